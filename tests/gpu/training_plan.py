"""Which training steps are measured, those that tell most first, and rows of them in the columns
that tables of published runs have."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes of a model; `family` is "gpt2" or "llama"."""
    name: str
    family: str
    layers: int
    hidden: int
    ffn_hidden: int
    heads: int
    kv_heads: int
    vocab: int
    most_positions: int

    @property
    def head_dim(self):
        return self.hidden // self.heads


# GPT-2 has 50,257 words; who trains it fills them up to a multiple of 64.
GPT2_VOCAB, LLAMA_VOCAB = 50304, 32000

SHAPES = {shape.name: shape for shape in (
    Shape("gpt2-125m", "gpt2", 12, 768, 3072, 12, 12, GPT2_VOCAB, 2048),
    Shape("gpt2-350m", "gpt2", 24, 1024, 4096, 16, 16, GPT2_VOCAB, 2048),
    Shape("gpt2-1.3b", "gpt2", 24, 2048, 8192, 16, 16, GPT2_VOCAB, 2048),
    Shape("llama-125m", "llama", 12, 768, 2048, 12, 12, LLAMA_VOCAB, 8192),
    Shape("llama-350m", "llama", 24, 1024, 2816, 16, 16, LLAMA_VOCAB, 8192),
    Shape("llama-1.3b", "llama", 24, 2048, 5504, 16, 16, LLAMA_VOCAB, 8192),
    Shape("llama-1.3b-gqa", "llama", 24, 2048, 5504, 16, 4, LLAMA_VOCAB, 8192),
    Shape("llama-7b", "llama", 32, 4096, 11008, 32, 32, LLAMA_VOCAB, 8192))}


@dataclass(frozen=True)
class Job:
    """A model and how it is trained; `precision` is one of PRECISIONS."""
    model: str
    precision: str
    sequence: int
    batch: int
    recompute: bool = False
    compiled: bool = False  # by torch.compile

    @property
    def least_seconds(self):
        """Fewer are left, and the job does not begin: our guess of what it may take. A compiler
        takes longer the more layers there are."""
        return 90 if self.compiled else 30 if self.model == "llama-7b" else 12


PLAN = [
    Job("gpt2-125m", "autocast", 1024, 16),
    Job("llama-1.3b", "autocast", 2048, 4),
    Job("llama-1.3b", "bf16", 2048, 4),
    Job("gpt2-350m", "autocast", 1024, 16),
    Job("llama-125m", "autocast", 2048, 8),
    Job("gpt2-1.3b", "autocast", 1024, 8),
    Job("llama-350m", "bf16", 2048, 8),
    Job("llama-1.3b", "autocast", 2048, 8, recompute=True),
    Job("llama-7b", "bf16", 2048, 2, recompute=True),
    Job("llama-1.3b-gqa", "bf16", 4096, 2),
    Job("gpt2-350m", "autocast", 1024, 16, recompute=True),
    Job("gpt2-125m", "bf16", 1024, 16),
    Job("llama-125m", "bf16", 2048, 8),
    Job("gpt2-1.3b", "bf16", 1024, 8),
    Job("llama-350m", "autocast", 2048, 8),
    Job("gpt2-350m", "bf16", 1024, 16),
    Job("gpt2-125m", "autocast", 1024, 16, compiled=True),
    Job("llama-1.3b", "bf16", 2048, 4, compiled=True),
    Job("llama-1.3b", "bf16", 8192, 1),
    Job("llama-1.3b", "bf16", 2048, 8, recompute=True),
    Job("llama-1.3b-gqa", "autocast", 4096, 2, recompute=True),
    Job("gpt2-125m", "autocast", 512, 32),
    Job("gpt2-125m", "autocast", 2048, 8),
    Job("gpt2-125m", "autocast", 1024, 4),
    Job("gpt2-125m", "autocast", 1024, 32),
    Job("llama-350m", "bf16", 4096, 4),
    Job("llama-350m", "bf16", 1024, 16),
    Job("llama-350m", "bf16", 2048, 2),
    Job("gpt2-1.3b", "bf16", 2048, 4, recompute=True),
    Job("gpt2-1.3b", "autocast", 1024, 2),
    Job("llama-1.3b", "autocast", 2048, 1),
    Job("llama-350m", "bf16", 2048, 8, compiled=True),
    Job("gpt2-350m", "autocast", 1024, 16, compiled=True),
    Job("llama-1.3b", "autocast", 2048, 8, recompute=True, compiled=True),
    Job("llama-7b", "autocast", 2048, 1, recompute=True),
]

# The columns, in their order, of the table of published runs that the memory and time reports read
# (tests/validation/memory_row.py). Empty: not known, or derived, which these rows are not.
COLUMNS = """id source source_repo source_path source_commit source_table from_memory framework task
hardware gpu_key hardware_note gpus model params params_note layers hidden ffn_hidden heads kv_heads
head_dim vocab seq_len attention glu experts topk moe_ffn_hidden shape_source dp tp pp vpp cp ep etp
dp_strategy zero_stage sequence_parallel micro_batch grad_accum global_batch global_batch_tokens
recompute precision optimizer_note tokens_per_s tokens_per_s_gpu samples_per_s tflops_per_gpu
flops_def peak_tflops_used mfu hfu step_time_s peak_mem_gib peak_mem_as_published mem_def oom
step_time_s_derived tokens_per_s_gpu_derived notes inferred_fields
model_tflops_6N_12LHQT_derived""".split()

PRECISIONS = {
    "autocast": ("bf16 autocast, fp32 parameters",
                 "AdamW, fused; parameters, gradients and both moments in fp32"),
    "bf16": ("bf16 throughout",
             "AdamW, fused; parameters, gradients and both moments in bf16")}


def shape_cells(shape, parameters):
    return {"model": shape.name, "params": parameters, "params_note": "counted, shared ones once",
            "layers": shape.layers, "hidden": shape.hidden, "ffn_hidden": shape.ffn_hidden,
            "heads": shape.heads, "kv_heads": shape.kv_heads, "head_dim": shape.head_dim,
            "vocab": shape.vocab, "attention": "MHA" if shape.kv_heads == shape.heads else "GQA",
            "glu": shape.family == "llama", "shape_source": "tests/gpu/training_plan.py"}


def job_cells(job):
    precision, optimizer = PRECISIONS[job.precision]
    return {"gpus": 1, "dp": 1, "tp": 1, "pp": 1, "cp": 1, "dp_strategy": "none", "zero_stage": 0,
            "sequence_parallel": False, "seq_len": job.sequence, "micro_batch": job.batch,
            "grad_accum": 1, "global_batch": job.batch,
            "global_batch_tokens": job.batch * job.sequence,
            "recompute": "full" if job.recompute else "none", "precision": precision,
            "optimizer_note": optimizer}


def result_cells(job, step_seconds, memory):
    """`memory` is (allocated, reserved) bytes at their peaks."""
    allocated, reserved = memory
    tokens = job.batch * job.sequence / step_seconds
    return {"step_time_s": step_seconds, "tokens_per_s": tokens, "tokens_per_s_gpu": tokens,
            "samples_per_s": job.batch / step_seconds, "oom": False,
            "peak_mem_gib": allocated / 2**30,
            "peak_mem_as_published": f"allocated {allocated} bytes, reserved {reserved} bytes",
            "mem_def": "torch.cuda.max_memory_allocated of the timed steps (GiB); beside it "
                       "max_memory_reserved"}


def source_cells(number, torch, datasheet, compiled):
    return {"id": f"sextant-gpu-validation-{number:03}", "source": "Sextant GPU validation",
            "source_path": "tests/gpu/training_steps.py", "from_memory": False,
            "framework": f"PyTorch {torch.__version__} cuda {torch.version.cuda}, "
                         + ("torch.compile" if compiled else "eager"),
            "task": "pretrain", "hardware": torch.cuda.get_device_name(),
            "gpu_key": datasheet.gpu_key if datasheet else None}
