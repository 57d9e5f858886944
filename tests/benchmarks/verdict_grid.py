#!/usr/bin/python3
"""Verdicts of 1,536 layouts of eight models on H100s, as CSV; or a comparison of two such files.

  tests/benchmarks/verdict_grid.py > FILE.csv
  tests/benchmarks/verdict_grid.py --compare BEFORE.csv AFTER.csv

Plans with a server of build/release, or of SEXTANT_BIN. A layout that a model can't have has the
status of the call instead of a verdict.
"""

import collections
import csv
import itertools
import os
import sys

import grpc

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from python_client_test import plan_run  # pylint: disable=wrong-import-position
from sextantd import Server  # pylint: disable=wrong-import-position

MODELS = ("llama-2-7b", "llama-2-13b", "llama-3.1-8b", "llama-3.1-70b", "llama-2-70b",
          "mixtral-8x7b", "gpt3-175b", "qwen2.5-32b")
POSITIONS = {"gpt3-175b": 2048}  # of learned position tables shorter than LENGTH
LENGTH = 4096
KEYS = ("model", "tensor", "pipeline", "data", "zero_stage", "recompute")
FIELDS = KEYS + ("verdict", "peak_bytes", "usable_bytes", "fit_chance")


def layouts():
    """All values of KEYS."""
    return itertools.product(MODELS, (1, 2, 4, 8), (1, 2, 4, 8), (1, 8, 32), ("none", "optimizer"),
                             ("none", "full"))


def request_of(api, training, layout, keys):
    """The request of a layout: micro-batches of one sequence, and defaults for all else."""
    model, tensor, pipeline, data, zero, recompute = keys
    request = api.PlanRunRequest()
    request.model.preset = model
    request.training.token_count = 10**12
    request.training.sequence_length = POSITIONS.get(model, LENGTH)
    request.training.recompute = getattr(
        training, "RECOMPUTE_POLICY_" + recompute.upper())
    request.cluster.device.accelerator = "h100-sxm"
    request.cluster.device_count = tensor * pipeline * data
    request.layout.parallel.tensor_parallel_size = tensor
    request.layout.parallel.pipeline_parallel_size = pipeline
    request.layout.sharding.zero_stage = getattr(layout, "ZERO_STAGE_" + zero.upper())
    return request


def rows():
    """A row for each layout."""
    from sextant.v1 import layout_pb2, model_count_pb2, plan_pb2
    from sextant.v1 import planning_service_pb2 as api
    with Server() as server, grpc.insecure_channel(server.address) as channel:
        for keys in layouts():
            try:
                plan = plan_run(channel, request_of(api, model_count_pb2, layout_pb2, keys)).plan
            except grpc.RpcError as error:
                yield keys + (error.code().name, "", "", "")
                continue
            memory = plan.memory
            yield keys + (plan_pb2.Verdict.Name(plan.verdict),
                          round(memory.peak_bytes.expected), memory.capacity.usable_bytes,
                          f"{plan.fit_chance:.3f}")


def read(path):
    """The rows of a file by their keys."""
    with open(path, newline="", encoding="utf-8") as file:
        return {tuple(row[key] for key in KEYS): row for row in csv.DictReader(file)}


def compare(before, after):
    """Counts of verdicts before and after, and the change of the peak."""
    counts = collections.Counter()
    growth = collections.defaultdict(list)
    for key, old in before.items():
        new = after[key]
        change = (old["verdict"], new["verdict"])
        counts[change] += 1
        if old["peak_bytes"] and new["peak_bytes"]:
            growth[change].append(int(new["peak_bytes"]) / int(old["peak_bytes"]) - 1)
    print("| before | after | layouts | median change of the peak |\n| --- | --- | ---: | ---: |")
    for (old, new), count in sorted(counts.items()):
        shares = sorted(growth[old, new])
        median = f"{100 * shares[len(shares) // 2]:+.1f} %" if shares else ""
        print(f"| {old} | {new} | {count} | {median} |")


def main():
    if sys.argv[1:2] == ["--compare"]:
        compare(read(sys.argv[2]), read(sys.argv[3]))
        return 0
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(rows())
    return 0


if __name__ == "__main__":
    sys.exit(main())
