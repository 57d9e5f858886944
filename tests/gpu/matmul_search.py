#!/usr/bin/env python3
"""PyTorch's matrix multiplications: over the very shapes that the probe measured, and a search for
the highest rate of any shape.

  matmul_search.py --probes=FILE --output=FILE.csv [--seconds=90]

The search is what the probe's best rate is held against: MAMF's idea (the most that any shape
gives) with the same care for random data and rotated operands. Each shape is timed in a burst after
a short rest, as the probe does; the best one in the end without a pause as well.
"""

import argparse
import json
import sys
import time

import probe
from gpu_timing import first_line, load_torch, measure, measure_sustained
from matmuls import data_types, library_of, multiplication
from results import Table, TimeLimit
from shapes import search_candidates

COLUMNS = ["kind", "dtype", "m", "n", "k", "seconds", "p10_seconds", "p90_seconds", "sample_count",
           "flops_per_second", "probe_flops_per_second", "probe_best_flops_per_second",
           "framework", "framework_version"]
# Of the step's time: the probe's shapes take what they need, up to this; the search has the rest,
# bf16 this share of it.
SAME_SHAPES_SHARE = 0.4
BF16_SHARE = 0.65
REST_SECONDS = 0.02
SUSTAINED_SECONDS = 1.0


def calibration_in(path):
    """The last calibration of the mode with the most shapes, or None."""
    best = None
    try:
        with open(path, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return None
    for mode in ("quick", "standard", "full"):
        for run in runs:
            if run["mode"] == mode and "calibration" in run:
                best = run["calibration"]
    return best


class Search:
    """Times shapes into a table, and remembers the best."""

    def __init__(self, torch, table):
        self._torch, self._table = torch, table
        self._library = dict(zip(("framework", "framework_version"), library_of(torch)))
        self.failed = False
        self.best = {}  # of a type: (rate, shape)

    def add(self, kind, dtype, shape, **more):
        m, n, k = shape
        try:
            run = multiplication(self._torch, dtype, m, n, k)
            if kind == "sustained":
                cells = measure_sustained(self._torch, run, SUSTAINED_SECONDS)
            else:
                time.sleep(REST_SECONDS)
                cells = measure(self._torch, run)
        except RuntimeError as fault:
            print(f"{dtype} {m}x{n}x{k}: {first_line(fault)}")
            self.failed = True
            return
        rate = 2 * m * n * k / cells["seconds"]
        self._table.add(kind=kind, dtype=dtype, m=m, n=n, k=k, flops_per_second=rate, **cells,
                        **more, **self._library)
        if kind != "sustained":
            self.best[dtype] = max(self.best.get(dtype, (0, shape)), (rate, shape))

    def best_shape(self, dtype):
        return self.best.get(dtype, (0, None))[1]


def same_shapes(search, dtype, calibration, limit):
    for matmul in probe.matmuls_of(calibration, dtype):
        if limit.over():
            return
        search.add("same_shape", dtype, probe.shape_of(matmul),
                   probe_flops_per_second=matmul["flops_per_second"],
                   probe_best_flops_per_second=matmul.get("best_flops_per_second"))


def search_best(search, dtype, limit):
    for shape in search_candidates(lambda: search.best_shape(dtype)):
        if limit.left() < SUSTAINED_SECONDS:
            break
        search.add("search", dtype, shape)
    if search.best_shape(dtype):
        search.add("sustained", dtype, search.best_shape(dtype))
        rate, shape = search.best[dtype]
        print(f"{dtype}: best {rate / 1e12:.1f} TFLOP/s at {shape}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probes", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--seconds", type=float, default=90)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    torch = load_torch()
    calibration = calibration_in(options.probes)
    if calibration is None:
        print("no calibration: the probe's own shapes are left out")
    search = Search(torch, Table(options.output, COLUMNS))
    types = data_types(torch)
    for dtype in types if calibration else []:
        same_shapes(search, dtype, calibration,
                    TimeLimit(SAME_SHAPES_SHARE * options.seconds / len(types)))
    for dtype in types:
        share = BF16_SHARE if dtype == "bf16" and len(types) > 1 else 1
        search_best(search, dtype, TimeLimit(share * limit.left()))
    return 1 if search.failed else 0


if __name__ == "__main__":
    sys.exit(main())
