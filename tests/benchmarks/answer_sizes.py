#!/usr/bin/python3
"""Bytes of a PlanRunResponse on the wire, by view.

  tests/benchmarks/answer_sizes.py

Starts a server of build/release and plans three runs in a BASIC view, a FULL one, and a FULL one
with derivation and, under a layout, ledger.
"""

import os
import sys

import grpc

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from python_client_test import plan_run  # pylint: disable=wrong-import-position
from sextantd import Server  # pylint: disable=wrong-import-position


def preset(request):
    request.model.preset = "llama-3.1-70b"
    request.cluster.device_count = 1024


def layout_70b(request):
    preset(request)
    request.training.sequence_length = 8192
    request.layout.parallel.tensor_parallel_size = 8
    request.layout.parallel.pipeline_parallel_size = 4


def deepseek(request):
    request.model.preset = "deepseek-v3"
    request.training.sequence_length = 4096
    request.cluster.device_count = 2048
    request.layout.parallel.pipeline_parallel_size = 16
    request.layout.parallel.layers_per_chunk.extend([4] * 13 + [3] * 3)
    request.layout.parallel.expert_parallel_size = 64


RUNS = {"llama-3.1-70b, no layout": preset, "llama-3.1-70b, tp 8, pp 4": layout_70b,
        "deepseek-v3, pp 16, ep 64": deepseek}


def main():
    from sextant.v1 import plan_options_pb2, planning_service_pb2 as api
    print("| run | BASIC | FULL | with derivation and ledger |\n| --- | ---: | ---: | ---: |")
    with Server() as server, grpc.insecure_channel(server.address) as channel:
        for name, fill in RUNS.items():
            request = api.PlanRunRequest()
            request.training.token_count = 15 * 10**12
            request.cluster.device.accelerator = "h100-sxm"
            fill(request)
            sizes = [plan_run(channel, request).ByteSize()]
            request.options.view = plan_options_pb2.PLAN_VIEW_FULL
            sizes.append(plan_run(channel, request).ByteSize())
            request.options.include_derivation = True
            request.options.include_ledger = request.HasField("layout")
            sizes.append(plan_run(channel, request).ByteSize())
            print(f"| {name} | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
