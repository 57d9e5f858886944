#!/usr/bin/env python3
"""PyTorch's matrix multiplications, which the probe's are held against.

  matmul_search.py --part=same|search --probes=FILE --facts=FILE --output=FILE.csv [--seconds=40]

same: the very shapes that the probe measured. search: the highest rate of any shape, for as long as
there is time: MAMF's idea (the most that any shape gives) with the same care for random data and
rotated operands. Each shape is timed in a burst after a short rest, as the probe does; the best one
in the end without a pause as well. A fact a type tells how many seconds were searched, and how many
shapes were tried.
"""

import argparse
import sys
import time

import probe
from gpu_timing import first_line, load_torch, measure, measure_sustained
from matmuls import data_types, library_of, multiplication
from results import Table, TimeLimit, add_fact
from shapes import search_candidates

COLUMNS = ["kind", "dtype", "m", "n", "k", "seconds", "p10_seconds", "p90_seconds", "sample_count",
           "flops_per_second", "probe_flops_per_second", "probe_best_flops_per_second",
           "framework", "framework_version"]
BF16_SHARE = 0.6  # of the time of a search
REST_SECONDS = 0.02
SUSTAINED_SECONDS = 1.0


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
                   probe_flops_per_second=matmul["flopsPerSecond"],
                   probe_best_flops_per_second=matmul.get("bestFlopsPerSecond"))


def search_best(search, dtype, limit, facts):
    begin, count = time.monotonic(), 0
    for shape in search_candidates(lambda: search.best_shape(dtype)):
        if limit.left() < SUSTAINED_SECONDS:
            break
        search.add("search", dtype, shape)
        count += 1
    add_fact(facts, "search", dtype=dtype, seconds=time.monotonic() - begin, shape_count=count)
    if search.best_shape(dtype):
        search.add("sustained", dtype, search.best_shape(dtype))
        rate, shape = search.best[dtype]
        print(f"{dtype}: best {rate / 1e12:.1f} TFLOP/s at {shape} of {count} shapes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("same", "search"), required=True)
    parser.add_argument("--probes", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    torch = load_torch()
    search = Search(torch, Table(options.output, COLUMNS))
    types = data_types(torch)
    if options.part == "search":
        for dtype in types:
            share = BF16_SHARE if dtype == "bf16" and len(types) > 1 else 1
            search_best(search, dtype, TimeLimit(share * limit.left()), options.facts)
        return 1 if search.failed else 0
    calibration = probe.best_calibration(probe.read_runs(options.probes, "probes"))
    if calibration is None:
        print("no calibration: there are no shapes to take")
        return 1
    for left, dtype in zip(range(len(types), 0, -1), types):
        same_shapes(search, dtype, calibration, TimeLimit(limit.left() / left))
    return 1 if search.failed else 0


if __name__ == "__main__":
    sys.exit(main())
