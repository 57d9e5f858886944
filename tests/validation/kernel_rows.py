"""Published kernel times as points, and the points that make a calibration."""

import os
import sys
import zlib
from typing import NamedTuple

from cells import ROOT

sys.path.insert(0, os.path.join(ROOT, "engine", "hardware", "reference"))

# pylint: disable-next=wrong-import-position
from make_attention_reference import pick_attention, pick_grouped

ATTENTION = ("batch", "seq_len", "heads", "kv_heads", "head_dim", "value_size", "causal", "window")
LATENT = ("batch", "seq_len", "heads", "kv_heads")  # heads of keys are 192 wide, of values 128
EXPERTS = ("tokens", "hidden", "intermediate", "top_k", "experts", "expert_parallel")


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
    if "head_dim" not in row:
        row = {**row, "kv_heads": row.get("heads"), "head_dim": 192, "value_size": 128, "causal": 1,
               "window": 0}
    row = {"value_size": row["head_dim"], **row}
    return Attention(*(integer(row, column) for column in ATTENTION))


def experts_of(row):
    return Experts(*(integer(row, column) for column in EXPERTS), int(integer(row, "gated") != 0))


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


def picked(pick, columns, points):
    """By make_attention_reference.py, which makes the engine's own points."""
    rows = [{**dict(zip(columns, point.shape)), "point": point} for point in points]
    return [row["point"] for row in pick(rows)]


def attention_pick(points):
    """The points of one kind that make a calibration: never more than half of the rows."""
    shape = points[0].shape
    columns = ATTENTION if shape.key_size == shape.value_size else LATENT
    return picked(pick_attention, columns, points)


def expert_pick(points):
    return picked(pick_grouped, EXPERTS, points)


def others(points, chosen):
    """Those of `points` whose shape none of `chosen` has."""
    known = {tuple(point.shape) for point in chosen}
    return [point for point in points if tuple(point.shape) not in known]


def asked(points):
    """As questions have them."""
    return [(point.shape, point.seconds) for point in points]


def times_of(fits, question, calibration, points, **more):
    """Times of `points` by a model of `calibration`."""
    times = fits.ask(question, points=asked(calibration),
                     shapes=[point.shape for point in points], **more)
    if "error" in times:
        raise ValueError(times["error"])
    return times


def in_matmul_domain(shape):
    return shape.m <= 8192 and all(1024 <= size <= 16384 for size in (shape.n, shape.k))


def in_even_half(shape):
    """True where the CRC-32 of "m,n,k" is even. What was chosen by looking at scores
    (docs/kernels_matmul.md) was chosen by this half."""
    return zlib.crc32(f"{shape.m},{shape.n},{shape.k}".encode()) % 2 == 0
