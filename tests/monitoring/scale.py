#!/usr/bin/python3
"""Measures one Prometheus that holds a large fleet: memory, processor time, rules and queries.

  tests/monitoring/scale.py [--gpus=10000] [--interval=60] [--minutes=5]

Every simulated host of 8 GPUs is a scrape target of its own, with the fleet set's 16 series a GPU.
The rules are those of deploy/monitoring. Prints Markdown tables; docs/fleet.md has a run's.
"""

import argparse
import gzip
import http.server
import json
import os
import statistics
import sys
import tempfile
import threading
import time

import simulated_fleet
from prometheus import MONITORING, RULE_FILES, Prometheus

GPUS_PER_HOST = 8
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Targets(http.server.ThreadingHTTPServer):
    """Serves /HOST's metrics, compressed beforehand, so that this program takes little time."""
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, host_count):
        measured_at = time.time() - 3600
        self.pages = {}
        for number in range(host_count):
            gpus = list(simulated_fleet.host_gpus(number, GPUS_PER_HOST))
            text = simulated_fleet.exposition(gpus, measured_at)
            self.pages[f"/{gpus[0].hostname}"] = gzip.compress(text.encode(), 1)
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        page = self.server.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


def scrape_configs(targets, folder):
    address = f"127.0.0.1:{targets.server_address[1]}"
    path = os.path.join(folder, "targets.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump([{"targets": [address],
                    "labels": {"__metrics_path__": page, "instance": page[1:] + ":9464"}}
                   for page in targets.pages], out)
    return [{"job_name": "sextant-agents", "file_sd_configs": [{"files": [path]}]}]


class Usage:
    """Memory and processor time of a process, from /proc."""

    def __init__(self, pid):
        self.pid = pid

    def rss_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def placement(host_count, size):
    """`size` hosts spread over the fleet, as a regular expression."""
    step = max(1, host_count // size)
    return "|".join(f"node-{number:05d}" for number in range(0, step * size, step))


def planner_queries(host_count):
    for pattern in ("modelName.*:sextant_gpu_.*",):
        yield "recorded rates of all products", f'{{__name__=~"{pattern}"}}'
    for size in (16, 128, 1250):
        if size > host_count:
            continue
        hosts = placement(host_count, size)
        yield (f"all fleet series of {size} hosts",
               f'{{__name__=~"sextant_gpu_.*",hostname=~"{hosts}"}}')
        yield (f"slowest two of {size} hosts, by rate", slowest_two(hosts))


def slowest_two(hosts):
    selector = f'gpu!="cpu",hostname=~"{hosts}"'
    return (f'bottomk by (dtype, window) (2, sextant_gpu_matmul_flops_per_second{{{selector}}})'
            f' or bottomk by (op) (2, sextant_gpu_memory_bandwidth_bytes_per_second{{{selector}}})')


def dashboard_queries():
    path = os.path.join(MONITORING, "grafana", "fleet.json")
    if not os.path.exists(path):
        return
    import dashboards
    for panel in dashboards.panels(dashboards.load("fleet")):
        for target in panel["targets"]:
            yield f"panel: {panel['title']}", dashboards.substitute(target["expr"])


def timed(prometheus, query, repeats=5):
    """(median seconds, slowest, bytes of the answer, series)"""
    seconds = []
    for _ in range(repeats):
        start = time.monotonic()
        answer = prometheus.post("/api/v1/query", query=query)
        seconds.append(time.monotonic() - start)
    return statistics.median(seconds), max(seconds), len(answer), answer.count(b'"value":')


def report_queries(prometheus, queries):
    print("| query | median | slowest of 5 | answer | series |")
    print("| --- | --: | --: | --: | --: |")
    for name, query in queries:
        median, slowest, size, series = timed(prometheus, query)
        print(f"| {name} | {median * 1e3:.0f} ms | {slowest * 1e3:.0f} ms | {size / 1e3:,.0f} kB "
              f"| {series:,} |", flush=True)


def report_rules(prometheus):
    groups = json.loads(prometheus.get("/api/v1/rules"))["data"]["groups"]
    print("| rule group | its last evaluation took |")
    print("| --- | --: |")
    for group in groups:
        print(f"| {group['name']} | {group['evaluationTime']:.2f} s |")


def report_server(prometheus, usage, cpu_seconds, wall_seconds, targets):
    (_, durations), = prometheus.query("quantile(0.99, scrape_duration_seconds)")
    (_, up), = prometheus.query("sum(up)")
    (_, series), = prometheus.query('prometheus_tsdb_head_series') or [({}, 0)]
    print(f"hosts {len(targets.pages):,}, of which up {up:,.0f}; series in memory {series:,.0f}; "
          f"RSS {usage.rss_bytes() / 1e9:.2f} GB; processor {cpu_seconds / wall_seconds:.2f} cores "
          f"over the last {wall_seconds:.0f} s; 99 % of scrapes took at most "
          f"{durations * 1e3:.0f} ms\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpus", type=int, default=10000)
    parser.add_argument("--interval", type=int, default=60, help="seconds between scrapes")
    parser.add_argument("--minutes", type=float, default=5, help="how long to run before queries")
    parser.add_argument("--query", action="append", default=[], help="one more query to time")
    arguments = parser.parse_args()
    host_count = arguments.gpus // GPUS_PER_HOST
    targets = Targets(host_count)
    with tempfile.TemporaryDirectory() as folder:
        configs = scrape_configs(targets, folder)
        rules = [path for path in RULE_FILES if os.path.exists(path)]
        with Prometheus(configs, rules, f"{arguments.interval}s") as prometheus:
            configs_self = prometheus.url
            usage = Usage(prometheus.process.pid)
            print(f"{arguments.gpus:,} GPUs, a scrape each {arguments.interval} s, "
                  f"after {arguments.minutes:g} min\n")
            half = arguments.minutes * 30
            time.sleep(half)
            start, before = time.monotonic(), usage.cpu_seconds()
            time.sleep(half)
            report_server(prometheus, usage, usage.cpu_seconds() - before,
                          time.monotonic() - start, targets)
            report_rules(prometheus)
            print()
            queries = [*planner_queries(host_count), *dashboard_queries(),
                       *((query[:60], query) for query in arguments.query)]
            report_queries(prometheus, queries)
            print(f"\nRSS after the queries {usage.rss_bytes() / 1e9:.2f} GB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
