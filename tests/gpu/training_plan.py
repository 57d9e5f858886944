"""Which training steps are measured, those that tell most first."""

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
    """A model and how it is trained; `precision` is one of training_rows.PRECISIONS."""
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
