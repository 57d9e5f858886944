#!/usr/bin/python3
"""docs/accuracy_whole_run.md compares published training runs with their plans by `sextant plan`.

Runs are those of tests/golden/published_runs.json. With --write, writes the page's tables. Where
the shared answers are, each published count of GPU-hours there is a row or is left out by name.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from sextantd import BIN, Server  # pylint: disable=wrong-import-position

DOCUMENT = os.path.join(ROOT, "docs", "accuracy_whole_run.md")
RUNS = os.path.join(ROOT, "tests", "golden", "published_runs.json")
MARK = "<!-- tables: tests/validation/whole_run_accuracy_test.py --write -->\n"
# Of every run: Meta's 419 interruptions in 54 days of 16,384 GPUs, and a store that takes 2 TB/s
# from as many (arXiv 2407.21783 sections 3.3.1 and 3.3.4); the restart is a choice.
INTERRUPTIONS = ("--failures-per-device-hour=1.97e-5", "--restart-duration=10m",
                 "--device-write-bytes-per-second=122e6")


def ask(run, server):
    said = subprocess.run(
        [os.path.join(BIN, "sextant"), f"--address={server.address}", "--output=json", "plan",
         *shlex.split(run["command"]), *INTERRUPTIONS, "--view=basic"],
        capture_output=True, text=True, check=False)
    if not said.stdout:  # a plan that does not fit fails, with its answer
        sys.exit(f"{run['id']}: {said.stderr}")
    return json.loads(said.stdout)["plan"]


class Scored:
    """A run and its plan."""

    def __init__(self, run, plan):
        estimate = plan["estimates"][0]
        assert estimate["kind"] == "ESTIMATE_KIND_PREDICTED", (run["id"], estimate["kind"])
        self.run = run
        hours = int(plan["device_count"]) / 3600
        elapsed = estimate["elapsed_seconds"]
        self.hours = elapsed["expected"] * hours
        self.low, self.high = elapsed["low"] * hours, elapsed["high"] * hours
        self.mfu = estimate["mfu"]
        self.goodput = plan["whole_run"]["goodput_ratio"]
        self.ratio = self.hours / run["gpu_hours"]
        # That of the steps, were the published hours nothing else.
        self.published_mfu = (self.mfu * estimate["duration_seconds"]["expected"] * hours /
                              run["gpu_hours"])
        self.fits = plan["verdict"] == "VERDICT_FITS"

    @property
    def inside(self):
        return self.low <= self.run["gpu_hours"] <= self.high

    def row(self):
        return (f"| `{self.run['id'].removesuffix('-gpu-hours')}` | {self.run['gpu_hours']:,.0f} | "
                f"{self.hours:,.0f} | {self.low:,.0f} to {self.high:,.0f} | "
                f"{100 * (self.ratio - 1):+.0f} % | {100 * self.published_mfu:.0f} % | "
                f"{100 * self.mfu:.0f} % | {100 * (1 - self.goodput):.1f} % |")

    def explained(self):
        opened = f" Ours: {self.run['open']}." if self.run["open"] else ""
        memory = "" if self.fits else " Our memory says that it does not fit."
        return (f"- `{self.run['id']}`: {self.run['why']}.{opened}{memory} Source: "
                f"{self.run['source']}.\n      sextant plan {self.run['command']}")


def summary(name, rows):
    errors = sorted(abs(row.ratio - 1) for row in rows)
    return (f"| {name} | {len(rows)} | {100 * statistics.median(errors):.0f} % | "
            f"{100 * errors[-1]:.0f} % | {sum(row.inside for row in rows)} |")


def tables(rows, left_out):
    yield ("| run | GPU-hours published | planned | 80 % interval | difference | MFU published | "
           "planned | lost to failures |")
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from (row.row() for row in rows)
    yield ""
    yield "| rows | count | median difference | largest | inside the interval |"
    yield "| --- | --- | --- | --- | --- |"
    yield summary("all", rows)
    for name, words in (("layout published", False), ("layout ours", True)):
        yield summary(name, [row for row in rows if ("layout" in row.run["open"]) == words])
    yield "\n## Each difference"
    yield from (row.explained() for row in rows)
    yield "\n## Left out"
    yield from (f"- `{name}`: {why}." for name, why in left_out.items())


def check_shared(runs):
    """Every published count of GPU-hours is a row with that count, or left out."""
    folder = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
    path = os.path.join(folder, "golden", "published_answers.jsonl")
    if not os.path.exists(path):
        return
    known = {run["id"]: run["gpu_hours"] for run in runs["runs"]}
    with open(path, encoding="utf-8") as file:
        for answer in map(json.loads, file):
            if answer["kind"] == "gpu_hours" and answer["id"] not in runs["left_out"]:
                assert known.get(answer["id"]) == answer["value"], answer["id"]


def main():
    with open(RUNS, encoding="utf-8") as file:
        runs = json.load(file)
    check_shared(runs)
    with Server("--log_calls=none") as server:
        rows = [Scored(run, ask(run, server)) for run in runs["runs"]]
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    wanted = text.split(MARK)[0] + MARK + "\n".join(tables(rows, runs["left_out"])) + "\n"
    if "--write" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif wanted != text:
        sys.exit("docs/accuracy_whole_run.md is out of date: run this with --write")


main()
