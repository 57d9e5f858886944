"""Rows of measured training steps, in the columns that tables of published runs have."""

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
