"""Transformers shaped like GPT-2 and like Llama, in plain PyTorch, with no dropout.

gpt2: learned positions, LayerNorm before each half, biases everywhere, GELU (tanh) of 4 widths, the
embedding shared with the output. llama: RMSNorm, rotary positions, SwiGLU, no bias, fewer heads of
keys and values where the shape says so, an output matrix of its own. Attention is
scaled_dot_product_attention, causal; the logits are fp32 for the loss. Shapes are those of
training_plan.py.
"""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class RmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        if hasattr(functional, "rms_norm"):
            return functional.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), 1e-5)
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return scaled.to(x.dtype) * self.weight.to(x.dtype)


def rotary_tables(sequence, head_dim, device):
    """Cosines and sines (sequence, head_dim), each frequency twice."""
    powers = torch.arange(0, head_dim, 2, device=device, dtype=torch.float32) / head_dim
    angles = torch.outer(torch.arange(sequence, device=device, dtype=torch.float32),
                         10000.0 ** -powers)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotated(x, tables):
    """x (batch, heads, sequence, head_dim), turned by each token's position."""
    cosines, sines = (table.to(x.dtype) for table in tables)
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat((-second, first), dim=-1) * sines


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        biased = shape.family == "gpt2"
        width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
        self.into = nn.Linear(shape.hidden, width, bias=biased)
        self.out = nn.Linear(shape.hidden, shape.hidden, bias=biased)

    def forward(self, x, tables):
        batch, sequence, _ = x.shape
        s = self.shape
        heads = self.into(x).view(batch, sequence, s.heads + 2 * s.kv_heads, s.head_dim)
        q, k, v = heads.transpose(1, 2).split((s.heads, s.kv_heads, s.kv_heads), dim=1)
        if tables is not None:
            q, k = rotated(q, tables), rotated(k, tables)
        grouped = {"enable_gqa": True} if s.kv_heads != s.heads else {}
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, **grouped)
        return self.out(mixed.transpose(1, 2).reshape(batch, sequence, s.hidden))


class FeedForward(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gated = shape.family == "llama"
        biased = not self.gated
        self.into = nn.Linear(shape.hidden, (2 if self.gated else 1) * shape.ffn_hidden,
                              bias=biased)
        self.out = nn.Linear(shape.ffn_hidden, shape.hidden, bias=biased)

    def forward(self, x):
        wide = self.into(x)
        if self.gated:
            gate, up = wide.chunk(2, dim=-1)
            return self.out(functional.silu(gate) * up)
        return self.out(functional.gelu(wide, approximate="tanh"))


def norm_of(shape):
    return nn.LayerNorm(shape.hidden) if shape.family == "gpt2" else RmsNorm(shape.hidden)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.attention_norm, self.attention = norm_of(shape), Attention(shape)
        self.feed_forward_norm, self.feed_forward = norm_of(shape), FeedForward(shape)

    def forward(self, x, tables):
        x = x + self.attention(self.attention_norm(x), tables)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Transformer(nn.Module):
    def __init__(self, shape, recompute=False):
        super().__init__()
        self.shape, self.recompute = shape, recompute
        self.tokens = nn.Embedding(shape.vocab, shape.hidden)
        self.positions = (nn.Embedding(shape.most_positions, shape.hidden)
                          if shape.family == "gpt2" else None)
        self.blocks = nn.ModuleList([Block(shape) for _ in range(shape.layers)])
        self.norm = norm_of(shape)
        self.output = nn.Linear(shape.hidden, shape.vocab, bias=False)
        if shape.family == "gpt2":
            self.output.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens, targets):
        """The loss of tokens and targets, both (batch, sequence)."""
        sequence = tokens.shape[1]
        x = self.tokens(tokens)
        tables = None
        if self.positions is not None:
            x = x + self.positions(torch.arange(sequence, device=tokens.device))
        else:
            tables = rotary_tables(sequence, self.shape.head_dim, tokens.device)
        for block in self.blocks:
            if self.recompute:
                x = checkpoint(block, x, tables, use_reentrant=False)
            else:
                x = block(x, tables)
        logits = self.output(self.norm(x)).float()
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def parameter_count(model):
    """Each parameter once, shared ones too."""
    return sum(parameter.numel() for parameter in model.parameters())
