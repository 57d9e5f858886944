"""The shapes that are measured. All lists are the same in every run."""

import random

# Layers of published models (rows n by k of their weights): attention in and out, gate with up,
# down, of Llama 3 8B and 70B, GPT-3 13B, Qwen 2.5 7B (n and k within 1024 to 16384).
MODEL_WEIGHTS = [(6144, 4096), (4096, 4096), (4096, 14336), (10240, 8192), (8192, 8192),
                 (15360, 5120), (5120, 5120), (4608, 3584), (3584, 3584)]


def unseen_matmuls(count=200, seed=8):
    """(m, n, k) of m to 8192, n and k of 1024 to 16384, logarithms evenly spread, and every fifth a
    model's weight. n and k are multiples of 64, which all types can be multiplied in. Shapes that
    a calibration has are left out when predictions are scored."""
    draw = random.Random(seed)
    out = []
    while len(out) < count:
        m = min(8192, max(1, round(2 ** draw.uniform(0, 13))))
        n, k = (64 * round(2 ** draw.uniform(4, 8)) for _ in range(2))
        if len(out) % 5 == 4:
            n, k = MODEL_WEIGHTS[len(out) // 5 % len(MODEL_WEIGHTS)]
        if (m, n, k) not in out:
            out.append((m, n, k))
    return out


SEARCH_SIZES = [2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384]
SEARCH_STARTS = [(8192, 8192, 8192), (4096, 4096, 4096), (8192, 8192, 4096), (16384, 8192, 8192),
                 (8192, 16384, 4096), (4096, 8192, 8192), (8192, 4096, 16384), (6144, 6144, 6144)]
MOST_SEARCH_FLOPS = 4.5e12  # some 6 ms on an H100: the grid of the probe goes as far


def search_candidates(best_of, seed=1):
    """Endless (m, n, k) for a search of the highest rate: the starts, then by turns a random shape
    and a neighbour (one dimension a step up or down the list) of the best so far, which `best_of()`
    gives. None comes twice."""
    draw = random.Random(seed)
    seen = set()

    def fresh(shape):
        new = shape not in seen and 2 * shape[0] * shape[1] * shape[2] <= MOST_SEARCH_FLOPS
        seen.add(shape)
        return new

    for shape in SEARCH_STARTS:
        if fresh(shape):
            yield shape
    failures = 0
    while failures < 1000:
        shape = tuple(draw.choice(SEARCH_SIZES) for _ in range(3))
        best = best_of()
        if draw.random() < 0.5 and best and all(size in SEARCH_SIZES for size in best):
            shape = list(best)
            which = draw.randrange(3)
            at = SEARCH_SIZES.index(shape[which]) + draw.choice((-1, 1))
            shape[which] = SEARCH_SIZES[min(max(at, 0), len(SEARCH_SIZES) - 1)]
            shape = tuple(shape)
        if fresh(shape):
            failures = 0
            yield shape
        else:
            failures += 1


def attention_shapes():
    """Dictionaries of batch, seq_len, heads, kv_heads, head_dim and causal. The most telling first,
    for where time is short."""
    out = []
    for seq_len, batch in ((2048, 4), (4096, 2), (1024, 8), (8192, 1), (512, 16), (3072, 3),
                           (16384, 1), (1536, 5)):
        for heads, kv_heads, head_dim, causal in ((32, 8, 128, 1), (16, 16, 64, 1),
                                                  (24, 24, 128, 1), (32, 8, 128, 0)):
            out.append({"batch": batch, "seq_len": seq_len, "heads": heads, "kv_heads": kv_heads,
                        "head_dim": head_dim, "causal": causal})
    return out


def attention_flops(shape, backward):
    """Of the products of matrices for each pair that the mask allows; see calibration.proto."""
    s = shape["seq_len"]
    pairs = s * (s + 1) / 2 if shape["causal"] else s * s
    forward = 4 * shape["head_dim"] * pairs * shape["batch"] * shape["heads"]
    return 2.5 * forward if backward else forward
