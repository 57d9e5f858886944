#!/usr/bin/python3
"""What a plan for hosts that were not named before costs a planner and the fleet's Prometheus.

  tests/benchmarks/placements.py [--hosts=1250] [--placements=200] FOLDER...

Each FOLDER has the programs of one build, e.g. of the commit before and of this one; they ask one
Prometheus with the rules of deploy/monitoring, which scraped simulated hosts of 8 GPUs once. The
plans are of one layout of an 8B model. Figures are of the processor in milliseconds a call, and of
the wall clock for one placement of all hosts.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "monitoring"), os.path.join(ROOT, "tests", "e2e")]
# pylint: disable=wrong-import-position
import sextantd
from planner_latency import request_for
from prometheus import RULE_FILES, Exporter, Prometheus
from python_client_test import plan_run
from simulated_fleet import H100, Gpu, exposition
from waiting import processor_seconds

import grpc

SCRAPE_SECONDS = 120
PLACED_HOSTS = 16


def scraped_fleet(stack, hosts):
    """A Prometheus that has scraped `hosts` and recorded their rates."""
    gpus = [Gpu(host, index, H100) for host in hosts for index in range(8)]
    page = exposition(gpus, time.time() - 3600).encode()
    address = stack.enter_context(Exporter(lambda path: page)).address
    agents = {"job_name": "agents", "static_configs": [{"targets": [address]}],
              "body_size_limit": 0}
    prometheus = Prometheus([agents], RULE_FILES, f"{SCRAPE_SECONDS}s")
    prometheus.configuration["global"]["evaluation_interval"] = "5s"
    stack.enter_context(prometheus)
    prometheus.wait_for(lambda: prometheus.query("modelName:sextant_gpu_measured:count > 0"),
                        "its GPUs are recorded", 300)
    time.sleep(15)  # each group of rules is evaluated at a time of its own
    path = os.path.join(prometheus.folder.name, "prometheus.yml")
    prometheus.configuration["global"]["evaluation_interval"] = "10m"  # not while calls are timed
    with open(path, "w", encoding="utf-8") as file:
        json.dump(prometheus.configuration, file)
    prometheus.process.send_signal(signal.SIGHUP)
    time.sleep(5)
    return prometheus


class Used:
    """Milliseconds of processes' processors, a call."""

    def __init__(self, *pids):
        self.pids = pids
        self.before = [processor_seconds(pid) for pid in pids]

    def each(self, count):
        return [1e3 * (processor_seconds(pid) - before) / count
                for pid, before in zip(self.pids, self.before)]


def report(folder, prometheus, hosts, placements):
    """The lines of one build."""
    sextantd.BIN = folder
    draw = random.Random(60)
    with sextantd.Server("--role=planner", f"--fleet_prometheus_url={prometheus.url}",
                         "--log_calls=none") as planner, \
            grpc.insecure_channel(planner.address) as channel:
        def plan(names):
            request = request_for(names)
            start = time.perf_counter()
            answer = plan_run(channel, request)
            return answer.plan.fleet, 1e3 * (time.perf_counter() - start)

        pids = (planner.process.pid, prometheus.process.pid)
        plan(None)
        used = Used(*pids)
        for _ in range(placements):
            plan(None)
        published = used.each(placements)
        coverage, first = plan(hosts[:PLACED_HOSTS])
        used, walls = Used(*pids), []
        for _ in range(placements):
            coverage, wall = plan(draw.sample(hosts, PLACED_HOSTS))
            assert coverage.device_count == 8 * PLACED_HOSTS, coverage
            walls.append(wall)
        new = used.each(placements)
        used = Used(*pids)
        repeated = draw.sample(hosts, PLACED_HOSTS)
        plan(repeated)
        for _ in range(placements):
            plan(repeated)
        old = used.each(placements)
        used = Used(*pids)
        coverage, all_hosts = plan(hosts)
        of_all = used.each(1)
    walls.sort()
    cells = [folder, f"{published[0]:.2f}", f"{first:.1f}", f"{walls[len(walls) // 2]:.2f}",
             f"{new[0]:.2f}", f"{new[1]:.1f}", f"{old[0]:.2f}", f"{all_hosts:,.0f}",
             f"{of_all[0]:.1f}", f"{of_all[1]:,.0f}",
             f"{coverage.device_count:,} {coverage.missing}".strip()]
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--hosts", type=int, default=1250)
    parser.add_argument("--placements", type=int, default=200)
    options = parser.parse_args()
    hosts = [f"node-{number:05d}" for number in range(options.hosts)]
    with contextlib.ExitStack() as stack:
        prometheus = scraped_fleet(stack, hosts)
        heads = ["build", "published rates, planner's CPU", f"first of {PLACED_HOSTS} hosts, ms",
                 "a new one, ms", "planner's CPU", "Prometheus's", "repeated, planner's CPU",
                 f"{options.hosts:,} hosts, ms", "planner's CPU", "Prometheus's",
                 "GPUs that were read"]
        print(f"| {' | '.join(heads)} |\n| --- |{' ---: |' * (len(heads) - 1)}")
        for folder in options.folders:
            report(folder, prometheus, hosts, options.placements)
    return 0


if __name__ == "__main__":
    sys.exit(main())
