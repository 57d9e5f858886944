"""Published kernel times as points, and the points that make a calibration."""

import os
import sys
import zlib
from functools import partial
from typing import NamedTuple

from cells import ROOT

sys.path.insert(0, os.path.join(ROOT, "engine", "hardware", "reference"))

# pylint: disable-next=wrong-import-position
from make_attention_reference import pick_attention, pick_grouped
from tables import grouped


class Matmul(NamedTuple):
    m: int
    n: int
    k: int


class Attention(NamedTuple):
    batch: int
    seq_len: int
    heads: int
    kv_heads: int
    head_dim: int  # of keys
    value_size: int
    causal: int
    window: int

    @property
    def kind(self):
        """What kernels treat differently."""
        return self.head_dim, self.value_size, self.causal, self.window

    @property
    def latent(self):
        return self.value_size != self.head_dim


class Experts(NamedTuple):
    tokens: int
    hidden: int
    intermediate: int
    top_k: int
    experts: int
    expert_parallel: int  # devices that share the experts
    gated: int


class Point(NamedTuple):
    shape: tuple
    seconds: float
    work: dict = {}  # as validation_fits counts it


def parsed(kind, what, row, column):
    try:
        return kind(row[column])
    except (KeyError, ValueError):
        raise ValueError(f"{column}: absent, or no {what}") from None


integer = partial(parsed, int, "integer")
real = partial(parsed, float, "number")


def shape_of(row, kind):
    """`kind` is one of the above, whose fields are columns."""
    if kind is Attention and "head_dim" not in row:  # latent attention
        row = {**row, "kv_heads": row.get("heads"), "head_dim": 192, "value_size": 128, "causal": 1,
               "window": 0}
    elif kind is Attention:
        row = {"value_size": row["head_dim"], **row}
    return kind(*(integer(row, column) for column in kind._fields))


def kernel_of(row):
    """Framework, version and, if there is one, kernel."""
    return " ".join(filter(None, (row.get("framework", ""), row.get("framework_version", ""),
                                  row.get("kernel", ""))))


def table_of(rows, kind, kernel=lambda row, _: kernel_of(row)):
    """Points by (gpu, type, kernel), in the table's order."""
    out = {}
    for row in rows:
        shape = shape_of(row, kind)
        key = row.get("gpu", ""), row.get("dtype", ""), kernel(row, shape)
        out.setdefault(key, []).append(Point(shape, real(row, "seconds")))
    return dict(sorted(out.items()))


def matmul_table(rows):
    return table_of(rows, Matmul, lambda row, _: kernel_of({**row, "kernel": ""}))


def with_works(fits, question, points):
    works = fits.ask(question, shapes=[point.shape for point in points])
    return [point._replace(work=work) for point, work in zip(points, works)]


def attention_table(rows, fits):
    """In the order of the shapes, those of one kind together."""
    table = table_of(rows, Attention)
    for key, points in table.items():
        points.sort(key=lambda point: (point.shape.kind, point.shape))
        table[key] = with_works(fits, "attention_works", points)
    return table


def expert_table(rows, fits):
    """In the order of the shapes."""
    table = table_of(rows, Experts,
                     lambda row, shape: kernel_of(row) + ("" if shape.gated else ", not gated"))
    return {key: with_works(fits, "expert_works", sorted(points, key=lambda point: point.shape))
            for key, points in table.items()}


def kinds_of(points):
    """Points of attention by head sizes, mask and window."""
    return list(grouped(points, lambda point: point.shape.kind).values())


def picked(pick, points):
    """By make_attention_reference.py, which makes the engine's own points."""
    rows = [{**point.shape._asdict(), "point": point} for point in points]
    if getattr(points[0].shape, "latent", False):
        for row in rows:
            del row["head_dim"]
    return [row["point"] for row in pick(rows)]


# The points of one kind that make a calibration: never more than half of the rows.
attention_pick = partial(picked, pick_attention)
expert_pick = partial(picked, pick_grouped)


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
