#!/usr/bin/python3
"""docs/accuracy_whole_run.md compares published runs with their plans by `sextant plan`.

Runs are those of tests/golden/published_runs.json. With --write, writes its tables and the page's
totals. Where the shared answers are, each published count of GPU-hours there is a row or is left
out by name.
"""

import json
import os
import shlex
import statistics
import sys

from cells import ROOT, api, sextant_plan, shared
from tables import Table, markdown, renew

RUNS = os.path.join(ROOT, "tests", "golden", "published_runs.json")
COLUMNS = (
    "run|GPU-hours published|planned|interval: low|high|inside|difference %|MFU published %|"
    "planned MFU %|lost to failures %|memory|difference explained|ours|source|sextant plan"
).split("|")
ENDS = ("expected", "low", "high")
# Of every run: Meta's 419 interruptions in 54 days of 16,384 GPUs, and a store that takes 2 TB/s
# from as many (arXiv 2407.21783 sections 3.3.1 and 3.3.4); the restart is a choice.
INTERRUPTIONS = ("--failures-per-device-hour=1.97e-5", "--restart-duration=10m",
                 "--device-write-bytes-per-second=122e6")


def ask(run, server):
    words = [*shlex.split(run["command"]), *INTERRUPTIONS, "--view=basic"]
    return sextant_plan(server, words)["plan"]


def scored(run, plan):
    """Cells of a run by their columns."""
    estimate = plan["estimates"][0]
    assert estimate["kind"] == "ESTIMATE_KIND_PREDICTED", (run["id"], estimate["kind"])
    published, elapsed = run["gpu_hours"], estimate["elapsedSeconds"]
    hours, low, high = (int(plan["deviceCount"]) / 3600 * elapsed[end] for end in ENDS)
    # MFU published: that of the steps, were the published hours nothing else.
    steps = estimate["durationSeconds"]["expected"] * int(plan["deviceCount"]) / 3600
    cells = [
        run["id"].removesuffix("-gpu-hours"),
        *(f"{count:.0f}" for count in (published, hours, low, high)),
        "yes" if low <= published <= high else "no",
        f"{100 * (hours / published - 1):+.0f}",
        f"{100 * estimate['mfu'] * steps / published:.0f}",
        f"{100 * estimate['mfu']:.0f}",
        f"{100 * (1 - plan['wholeRun']['goodputRatio']):.1f}",
        "fits" if plan["verdict"] == "VERDICT_FITS" else "does not fit",
        *(run[key] for key in ("why", "open", "source", "command")),
    ]
    return dict(zip(COLUMNS, cells)), abs(hours / published - 1)


def summary(name, rows):
    errors = sorted(error for _, error in rows)
    median, largest = (f"{100 * error:.0f}" for error in (statistics.median(errors), errors[-1]))
    inside = sum(row["inside"] == "yes" for row, _ in rows)
    return [name, str(len(rows)), median, largest, str(inside)]


def total_table(rows):
    """`rows` by whether their source publishes a layout."""
    groups = {"all": rows, "layout published": [], "layout ours": []}
    for row in rows:
        groups["layout ours" if "layout" in row[0]["ours"] else "layout published"].append(row)
    columns = ["rows", "count", "median difference %", "largest %", "inside the interval"]
    return Table(columns, [summary(name, some) for name, some in groups.items()])


def totals(table, left_out):
    lines = [f"- `{name}`: {why}.\n" for name, why in left_out.items()]
    return markdown(table) + "\nLeft out:\n\n" + "".join(lines)


def check_shared(runs):
    """Every published count of GPU-hours is a row with that count, or left out."""
    path = shared("golden/published_answers.jsonl")
    if path is None:
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
    with api.Server("--log_calls=none") as server:
        rows = [scored(run, ask(run, server)) for run in runs["runs"]]
    table = Table(COLUMNS, [list(row.values()) for row, _ in rows])
    block = totals(total_table(rows), runs["left_out"])
    sys.exit(renew("accuracy_whole_run", block, {"runs": table}))


main()
