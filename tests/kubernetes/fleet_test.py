#!/usr/bin/python3
"""A workload whose nodes Kueue names is judged by what was measured on them: Kueue's topology, the
controller, Admit, a real Prometheus, and series of simulated GPUs as agents show them."""

import dataclasses
import os
import re
import sys
import time

from tools import ROOT
from sextantd import SKIPPED, Server
from api_server import ApiServer
from controller_test import Controller, checks_of, decided, queue, reasons, soon
from jobs import FITS
sys.path.append(os.path.join(ROOT, "tests", "monitoring"))
# pylint: disable=wrong-import-position
from prometheus import RULE_FILES, Exporter, Prometheus, why_absent
from simulated_fleet import H100, H200, Gpu, exposition

GIB = 1 << 30
WORDS = FITS + " --tokens=1T"  # 53 GiB a GPU
SLOW = 0.4  # the share of its rates that a slow GPU lacks
HALF = dataclasses.replace(H100, memory_bytes=40 * GIB)
# Nodes of 8 GPUs, by what is special of them.
NODES = {"node-even1": {}, "node-even2": {}, "node-slow": {"slowdown": SLOW},
         "node-small": {"product": HALF}, "node-held": {}, "node-other": {"product": H200}}
HELD = 60 * GIB  # of each GPU of node-held, by processes at the last scrape


def page():
    gpus = [Gpu(host, index, **special) for host, special in NODES.items() for index in range(8)]
    held = [f"sextant_gpu_memory_taken_bytes{{{gpu.labels()}}} {HELD}" for gpu in gpus
            if gpu.hostname == "node-held"]
    return (exposition(gpus, time.time() - 60) + "\n".join(held) + "\n").encode()


def days(message):
    return float(re.fullmatch(r"sextant: FITS: .*; ([\d.]+) days predicted", message).group(1))


def check_nodes(api, planner, prometheus):
    checks_of(api)
    prometheus.wait_for(lambda: len(prometheus.query(
        'count by (hostname) (hostname_modelName:sextant_gpu_rate:min{figure="bf16_sustained"})'
    )) == len(NODES), "rates of all nodes are recorded")
    with Controller(api, planner.address, folder=None) as controller:
        controller.wait_for("holds the lease")

        def verdict(name, *nodes):
            queue(api, name, WORDS, nodes=nodes)
            return decided(api, name)
        took = {}
        for name, other in (("even", "even2"), ("slow", "slow"), ("held", "held")):
            state, message = verdict(name, "even1", other)
            assert state == "Ready", (name, message)
            took[name] = days(message)
        ratio = took["slow"] / took["even"]
        assert 1.3 < ratio < 1 / (1 - SLOW) + 0.05, took
        assert abs(took["held"] / took["even"] - 1) < 0.05, took
        state, message = verdict("small", "even1", "small")
        assert state == "Rejected" and "DOES NOT FIT" in message and \
            " of 40.00 GiB usable" in message, message
        # Another product than its pods ask for is not the words' mistake.
        state, message = verdict("other", "other")
        assert state == "Ready" and "UNKNOWN" in message and "NVIDIA H200" in message, message
        soon(lambda: reasons(api, "job-other") == ["SextantNotJudged"])
    return took


def main():
    reason = why_absent("prometheus")
    if reason:
        print(reason)
        return SKIPPED
    with Exporter(lambda _: page()) as exporter, \
            Prometheus([{"job_name": "sextant-agents", "static_configs": [
                {"targets": [exporter.address]}]}], RULE_FILES) as prometheus, ApiServer() as api, \
            Server("--role=planner", "--log_calls=none", "--fleet_interval=1s",
                   f"--fleet_prometheus_url={prometheus.url}") as planner:
        took = check_nodes(api, planner, prometheus)
    print(f"predicted on even nodes: {took['even']} days; with a slow one: {took['slow']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
