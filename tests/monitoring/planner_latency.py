#!/usr/bin/python3
"""What reading a fleet's rates adds to a plan's time.

    tests/monitoring/planner_latency.py [--calls=3000] [--hosts=16] [--interval=15s]

One planner, one Prometheus with an exporter of simulated GPUs, calls one after another from Python,
in turns: a layout at a product's published rates, the same on hosts of the fleet. Those that read
Prometheus, one an interval, are among them. Prints percentiles in milliseconds, client included.
"""

import argparse
import contextlib
import sys
import time
import urllib.request

import monitored_fleet  # noqa: F401  (puts tests/e2e on the path)
from prometheus import RULE_FILES, Exporter, Prometheus
from sextantd import Server
from simulated_fleet import H100, Gpu, exposition

import grpc
from python_client_test import plan_run


def request_for(hosts):
    from sextant.v1 import planning_service_pb2 as api
    request = api.PlanRunRequest()
    request.model.preset = "llama-3.1-8b"
    request.training.token_count = 10**12
    request.training.sequence_length = 4096
    request.cluster.device_count = 16
    request.cluster.node_type = "dgx-h100"
    request.layout.global_batch_size = 64
    request.layout.parallel.tensor_parallel_size = 2
    if hosts:
        request.cluster.device.fleet.accelerator = "h100-sxm"
        request.cluster.device.fleet.hostnames.extend(hosts)
    else:
        request.cluster.device.accelerator = "h100-sxm"
    return request


def percentiles(seconds):
    ordered = sorted(seconds)
    return "  ".join(f"p{name} {1000 * ordered[int(len(ordered) * share)]:.2f}"
                     for name, share in (("50", 0.5), ("99", 0.99), ("99.9", 0.999)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--interval", default="15s", help="between two reads of the planner")
    options = parser.parse_args()
    hosts = [f"node-{number:03d}" for number in range(options.hosts)]
    gpus = [Gpu(host, index, H100) for host in hosts for index in range(8)]
    with contextlib.ExitStack() as stack:
        page = exposition(gpus, time.time()).encode()
        address = stack.enter_context(Exporter(lambda path: page)).address
        prometheus = stack.enter_context(Prometheus(
            [{"job_name": "agents", "static_configs": [{"targets": [address]}]}], RULE_FILES, "5s"))
        prometheus.wait_for(lambda: prometheus.query("sextant_gpu_healthy"), "a scrape")
        planner = stack.enter_context(Server(
            "--role=planner", f"--fleet_prometheus_url={prometheus.url}",
            f"--fleet_interval={options.interval}", "--log_calls=none"))
        channel = stack.enter_context(grpc.insecure_channel(planner.address))
        requests = {"published rates": request_for([]), "hosts of the fleet": request_for(hosts)}
        for request in requests.values():
            answer = plan_run(channel, request)
        assert answer.plan.fleet.device_count == len(gpus), answer.plan.fleet
        taken = {name: [] for name in requests}
        for _ in range(options.calls):
            for name, request in requests.items():
                start = time.perf_counter()
                plan_run(channel, request)
                taken[name].append(time.perf_counter() - start)
        for name, seconds in taken.items():
            print(f"{name:20}{percentiles(seconds)}")
        with urllib.request.urlopen(f"http://{planner.http}/metrics", timeout=10) as answer:
            print(*[line for line in answer.read().decode().split("\n")
                    if line.startswith("sextant_fleet_fetches_total")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
