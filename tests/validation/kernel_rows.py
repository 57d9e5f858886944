"""Published kernel times as points, and the points that make a calibration."""

import os
import sys
import zlib
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "engine", "hardware", "reference"))

from make_attention_reference import spread  # pylint: disable=wrong-import-position

SPREAD_OF_ATTENTION = (12, 3, 1)  # 4096 tokens, 64 heads in the batch, groups of 4
SPREAD_OF_EXPERTS = (4, 2, 11.5)  # 256 rows an expert, 16 experts, 2^23 weights a matrix
MAX_FLOPS = 6e12  # of a point of attention: a probe has about a second for all of them
MAX_EXPERT_POINTS = 60


class Matmul(NamedTuple):
    m: int
    n: int
    k: int


class Attention(NamedTuple):
    batch: int
    tokens: int
    heads: int
    kv_heads: int
    key_size: int
    value_size: int
    causal: int
    window: int

    @property
    def kind(self):
        """What kernels treat differently."""
        return self.key_size, self.value_size, self.causal, self.window


class Experts(NamedTuple):
    tokens: int
    hidden: int
    intermediate: int
    per_token: int
    experts: int
    devices: int  # that share the experts
    gated: int


class Point(NamedTuple):
    shape: tuple
    seconds: float
    work: dict = {}  # as validation_fits counts it


def integer(row, column):
    try:
        return int(row[column])
    except (KeyError, ValueError):
        raise ValueError(f"{column}: absent, or no integer") from None


def real(row, column):
    try:
        return float(row[column])
    except (KeyError, ValueError):
        raise ValueError(f"{column}: absent, or no number") from None


def matmul_of(row):
    return Matmul(*(integer(row, column) for column in "mnk"))


def attention_of(row):
    """Rows of latent attention lack columns: its heads of keys are 192 wide, of values 128."""
    batch, tokens, heads = (integer(row, column) for column in ("batch", "seq_len", "heads"))
    if "head_dim" not in row:
        return Attention(batch, tokens, heads, heads, 192, 128, 1, 0)
    size = integer(row, "head_dim")
    return Attention(batch, tokens, heads, integer(row, "kv_heads"), size, size,
                     int(integer(row, "causal") != 0), integer(row, "window"))


def experts_of(row):
    columns = ("tokens", "hidden", "intermediate", "top_k", "experts", "expert_parallel")
    return Experts(*(integer(row, column) for column in columns), int(integer(row, "gated") != 0))


def kernel_of(row):
    """Framework, version and, if there is one, kernel."""
    return " ".join(filter(None, (row.get("framework", ""), row.get("framework_version", ""),
                                  row.get("kernel", ""))))


def table_of(rows, shape_of, kernel):
    """Points by (gpu, type, kernel), in the table's order."""
    out = {}
    for row in rows:
        shape = shape_of(row)
        key = row.get("gpu", ""), row.get("dtype", ""), kernel(row, shape)
        out.setdefault(key, []).append(Point(shape, real(row, "seconds")))
    return dict(sorted(out.items()))


def matmul_table(rows):
    return table_of(rows, matmul_of, lambda row, _: kernel_of({**row, "kernel": ""}))


def with_works(fits, question, points):
    works = fits.ask(question, shapes=[point.shape for point in points])
    return [point._replace(work=work) for point, work in zip(points, works)]


def attention_table(rows, fits):
    """In the order of the shapes, those of one kind together."""
    table = table_of(rows, attention_of, lambda row, _: kernel_of(row))
    for key, points in table.items():
        points.sort(key=lambda point: (point.shape.kind, point.shape.batch, point.shape.tokens,
                                       point.shape.heads, point.shape.kv_heads))
        table[key] = with_works(fits, "attention_works", points)
    return table


def expert_table(rows, fits):
    """In the order of the shapes."""
    table = table_of(rows, experts_of,
                     lambda row, shape: kernel_of(row) + ("" if shape.gated else ", not gated"))
    return {key: with_works(fits, "expert_works", sorted(points, key=lambda point: point.shape))
            for key, points in table.items()}


def kinds_of(points):
    """Points of attention by head sizes, mask and window."""
    out = {}
    for point in points:
        out.setdefault(point.shape.kind, []).append(point)
    return list(out.values())


def attention_pick(points):
    """The points of one kind that make a calibration: never more than half of the rows."""
    like = points[0].shape
    wanted = 40 if like.key_size != like.value_size else 16 if like.window else 30
    small = [point for point in points if point.work["flops"] <= MAX_FLOPS]
    positions = [point.work["position"] for point in small]
    taken = spread(positions, SPREAD_OF_ATTENTION, min(wanted, len(points) // 2))
    return [small[index] for index in taken]


def expert_pick(points):
    positions = [point.work["position"] for point in points]
    taken = spread(positions, SPREAD_OF_EXPERTS, min(MAX_EXPERT_POINTS, len(points) // 2))
    return [points[index] for index in taken]


def others(points, chosen):
    """Those of `points` whose shape none of `chosen` has."""
    known = {tuple(point.shape) for point in chosen}
    return [point for point in points if tuple(point.shape) not in known]


def asked(points):
    """As questions have them."""
    return [(point.shape, point.seconds) for point in points]


def in_matmul_domain(shape):
    return shape.m <= 8192 and all(1024 <= size <= 16384 for size in (shape.n, shape.k))


def in_even_half(shape):
    """True where the CRC-32 of "m,n,k" is even. What was chosen by looking at scores
    (docs/kernels_matmul.md) was chosen by this half."""
    return zlib.crc32(f"{shape.m},{shape.n},{shape.k}".encode()) % 2 == 0
