#!/usr/bin/python3
"""Measures one Prometheus that holds a large fleet: memory, processor time, rules and queries.

  tests/monitoring/scale.py [--gpus=10000] [--interval=60] [--minutes=6] [--slow_rules] [--live]

Every simulated host of 8 GPUs is a scrape target of its own, with the fleet set's 16 series a GPU;
--live adds those of a job on every 16 hosts, and of what GPUs do now. --slow_rules evaluates the
groups of what changes in hours every 3 minutes.
The rules and the fleet dashboard are those of deploy/monitoring. Panels over time are asked for
over the whole run, in steps of 15 s. Prints Markdown tables; docs/fleet.md has a run's.
"""

import argparse
import contextlib
import gzip
import json
import os
import statistics
import sys
import tempfile
import time

import dashboards
import simulated_fleet
from prometheus import RULE_FILES, Exporter, Prometheus

GPUS_PER_HOST = 8
HOSTS_PER_JOB = 16
SLOW_GROUPS = ("sextant-products", "sextant-hosts", "sextant-gpus", "sextant-gpu-alerts")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def live_lines(gpus, job_id):
    """The live series; counters stand still, which takes as long to evaluate."""
    lines = [f'sextant_job_planned_mfu_ratio{{job_id="{job_id}"}} 0.4']
    for gpu in gpus:
        of_job = f'{{UUID="{gpu.uuid}",job_id="{job_id}"}}'
        lines += [f"sextant_gpu_model_flops_total{of_job} 1e18",
                  f"sextant_job_tokens_total{of_job} 1e9"]
        lines += [f"sextant_gpu_{name}_active_ratio{{{gpu.labels()}}} 0.5"
                  for name in ("tensor", "memory", "sm")]
    return "\n".join(lines) + "\n"


def pages_of(host_count, is_live):
    """/HOST's metrics, compressed beforehand, so that this program takes little time."""
    measured_at = time.time() - 3600
    pages = {}
    for number in range(host_count):
        gpus = list(simulated_fleet.host_gpus(number, GPUS_PER_HOST))
        text = simulated_fleet.exposition(gpus, measured_at)
        if is_live:
            text += live_lines(gpus, f"job-{number // HOSTS_PER_JOB:04d}")
        pages[f"/{gpus[0].hostname}"] = gzip.compress(text.encode(), 1)
    return pages


def slow_rules(folder):
    """Copies of the rule files, with an interval for SLOW_GROUPS."""
    for path in RULE_FILES:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for group in SLOW_GROUPS:
            text = text.replace(f"- name: {group}\n", f"- name: {group}\n    interval: 3m\n")
        copy = os.path.join(folder, os.path.basename(path))
        with open(copy, "w", encoding="utf-8") as out:
            out.write(text)
        yield copy


def scrape_configs(address, pages, folder):
    path = os.path.join(folder, "targets.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump([{"targets": [address],
                    "labels": {"__metrics_path__": page, "instance": page[1:] + ":9464"}}
                   for page in pages], out)
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


def planner_queries():
    """(name, query) of what a planner asks."""
    yield ("recorded rates of all hosts and products",
           '{__name__=~"(hostname_)?modelName.*:sextant_gpu_.*:(p50|min|max|count)"}')
    uuids = "|".join(gpu.uuid for gpu in simulated_fleet.host_gpus(0))
    yield "all series of 8 GPUs, by UUID", f'{{__name__=~"sextant_gpu_.*",UUID=~"{uuids}"}}'


def panel_queries(minutes):
    """(name, path, fields) of the fleet dashboard's queries, as Grafana asks for them."""
    for panel in dashboards.panels(dashboards.load("fleet")):
        for target in panel["targets"]:
            fields = {"query": dashboards.substitute(target["expr"])}
            path = "/api/v1/query"
            if not target["instant"]:
                path += "_range"
                fields.update(start=time.time() - 60 * minutes, end=time.time(), step=15)
            yield f"{panel['title']} ({target['refId']})", path, fields


def report_queries(prometheus, asked, repeats=5):
    """Times each of (name, path, fields)."""
    print("| query | median | slowest of 5 | answer | series |")
    print("| --- | --: | --: | --: | --: |")
    for name, path, fields in asked:
        seconds = []
        for _ in range(repeats):
            start = time.monotonic()
            answer = prometheus.post(path, **fields)
            seconds.append(time.monotonic() - start)
        series = answer.count(b'"metric":')
        print(f"| {name} | {statistics.median(seconds) * 1e3:,.0f} ms "
              f"| {max(seconds) * 1e3:,.0f} ms | {len(answer) / 1e3:,.0f} kB "
              f"| {series:,} |", flush=True)
    print()


def report_rules(prometheus):
    groups = json.loads(prometheus.get("/api/v1/rules"))["data"]["groups"]
    print("| rule group | its last evaluation took | of which the dearest rule |")
    print("| --- | --: | --- |")
    for group in groups:
        dearest = max(group["rules"], key=lambda rule: rule["evaluationTime"])
        print(f"| {group['name']} | {group['evaluationTime']:.2f} s | "
              f"`{dearest['name']}`, {dearest['evaluationTime']:.2f} s |")
    print()


def report_server(prometheus, usage, cores, target_count):
    head = json.loads(prometheus.get("/api/v1/status/tsdb"))["data"]["headStats"]
    (_, slowest), = prometheus.query("quantile(0.99, scrape_duration_seconds)")
    (_, up), = prometheus.query("sum(up)")
    (_, samples), = prometheus.query("sum(scrape_samples_scraped)")
    print("| figure | measured |")
    print("| --- | --: |")
    for name, value in (
            ("targets, of which up", f"{target_count:,}, {up:,.0f}"),
            ("samples of one scrape of all", f"{samples:,.0f}"),
            ("series in memory, with recorded ones", f"{head['numSeries']:,}"),
            ("resident memory", f"{usage.rss_bytes() / 1e9:.2f} GB"),
            ("processor time, in cores", f"{cores:.2f}"),
            ("99 % of scrapes took at most", f"{slowest * 1e3:.0f} ms"),
            ("load average of the machine", f"{os.getloadavg()[0]:.1f}")):
        print(f"| {name} | {value} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpus", type=int, default=10000)
    parser.add_argument("--interval", type=int, default=60, help="seconds between scrapes")
    parser.add_argument("--minutes", type=float, default=6, help="how long to run before queries")
    parser.add_argument("--slow_rules", action="store_true", help="evaluate most every 3 minutes")
    parser.add_argument("--live", action="store_true", help="with jobs and activity")
    arguments = parser.parse_args()
    host_count = arguments.gpus // GPUS_PER_HOST
    pages = pages_of(host_count, arguments.live)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        rules = list(slow_rules(folder)) if arguments.slow_rules else RULE_FILES
        address = stack.enter_context(Exporter(pages.__getitem__)).address
        prometheus = stack.enter_context(Prometheus(
            scrape_configs(address, pages, folder), rules, f"{arguments.interval}s"))
        usage = Usage(prometheus.process.pid)
        print(" ".join(sys.argv[1:]), f"after {arguments.minutes:g} minutes\n", flush=True)
        time.sleep(arguments.minutes * 30)
        start, before = time.monotonic(), usage.cpu_seconds()
        time.sleep(arguments.minutes * 30)
        cores = (usage.cpu_seconds() - before) / (time.monotonic() - start)
        report_server(prometheus, usage, cores, len(pages))
        report_rules(prometheus)
        report_queries(prometheus, ((name, "/api/v1/query", {"query": query})
                                    for name, query in planner_queries()))
        report_queries(prometheus, panel_queries(arguments.minutes))
        print(f"resident memory after the queries: {usage.rss_bytes() / 1e9:.2f} GB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
