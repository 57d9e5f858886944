#!/usr/bin/python3
"""memory_accuracy on the small tables of tests/golden: its statistics are computed again here."""

import csv
import math
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ["SEXTANT_BIN"], "memory_accuracy")
GOLDEN = os.path.join(ROOT, "tests", "golden")
ALL_FIELDS = "all fields given"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def tables(report):
    """The tables of a report: lists of rows by the names of their columns."""
    out, head = [], None
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells
            out.append([])
        elif set(line) - set("|-: "):
            out[-1].append(dict(zip(head, cells)))
    return out


def table_with(report, *columns):
    return next(table for table in tables(report) if table and set(columns) <= set(table[0]))


def number(cell):
    return float(cell.replace("%", "").replace("+", ""))


def check_report(table, source, answered, ranges):
    path = os.path.join(GOLDEN, table)
    with open(path, newline="", encoding="utf-8") as file:
        row_count = len(list(csv.DictReader(file)))
    result = run(f"--{source}={path}")
    assert result.returncode == 0, result.stderr
    report = result.stdout
    assert report == run(f"--{source}={path}").stdout
    left_out = sum(int(row["rows"]) for row in table_with(report, "source", "why", "rows"))
    assert (f" {answered} rows are asked about, {ranges} lack a field and are asked about as "
            f"ranges, {left_out} are left out" in report)
    assert answered + ranges + left_out == row_count
    # The worst ten are all that there are.
    figures = table_with(report, "run", "definition", "error")
    for row in figures:
        error = 100 * (float(row["predicted GiB"]) / float(row["measured GiB"]) - 1)
        # Both are rounded to 0.005 GiB.
        slack = 100 * 0.011 / float(row["measured GiB"]) + 0.006
        assert abs(error - number(row["error"])) <= slack, row
    check_summaries(figures, table_with(report, "definition", "which", "within 3 %"))
    check_figures(source, path, report)
    return report


def check_figures(source, path, report):
    """The table of --figures gives the report's table of intervals."""
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "figures.csv")
        result = run(f"--{source}={path}", f"--figures={table}")
        assert result.returncode == 0, result.stderr
        with open(table, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        measured, low, high = (float(row[name]) for name in ("measured", "low", "high"))
        assert low <= float(row["expected"]) <= high, row
        assert row["framework"] and row["series"], row
        key = (row["definition"], row["framework"], row["request"])
        groups.setdefault(key, []).append((measured < low, measured > high))
    shown = table_with(report, "request", "inside", "below low", "above high")
    assert len(shown) == len(groups)
    for row in shown:
        group = groups[row["definition"], row["framework"], row["request"]]
        assert int(row["figures"]) == len(group)
        for column, side in (("below low", 0), ("above high", 1)):
            share = 100 * sum(outside[side] for outside in group) / len(group)
            assert abs(number(row[column]) - share) <= 0.5


def check_summaries(figures, summaries):
    by_definition = {}
    for row in figures:
        by_definition.setdefault(row["definition"], []).append(number(row["error"]))
    counts = {}
    for summary in summaries:
        if summary["which"] != "all" or summary["request"] != ALL_FIELDS:
            continue
        counts.setdefault(summary["definition"], []).append(summary)
    for definition, errors in by_definition.items():
        assert sum(int(row["rows"]) for row in counts[definition]) == len(errors)
        if len(counts[definition]) != 1:
            continue
        summary = counts[definition][0]
        sizes = sorted(abs(error) for error in errors)
        assert math.isclose(number(summary["median"]), statistics.median(errors), abs_tol=0.011)
        assert math.isclose(number(summary["median of sizes"]), statistics.median(sizes),
                            abs_tol=0.011)
        worst = sizes[math.ceil(0.9 * len(sizes)) - 1]
        assert math.isclose(number(summary["90th percentile of sizes"]), worst, abs_tol=0.011)
        share = round(100 * sum(size <= 3 for size in sizes) / len(sizes))
        assert number(summary["within 3 %"]) == share


def check_megatron():
    report = check_report("megatron_ci_memory.csv", "megatron_ci", answered=8, ranges=0)
    assert "| Megatron-LM CI | 1 | Mamba layers are not described |" in report
    assert "| Megatron-LM CI | 1 | offloading of activations is not described |" in report
    known = [row for row in table_with(report, "definition", "which", "within 3 %")
             if row["which"] == "fully known" and row["request"] == ALL_FIELDS]
    assert len(known) == 1 and int(known[0]["rows"]) == 8
    assert number(known[0]["median of sizes"]) <= 3


def check_measured():
    report = check_report("measured_memory.csv", "measured_runs", answered=8, ranges=1)
    verdicts = {row["the job"]: row for row in table_with(report, "FITS", "TIGHT")
                if row["source"] == "BLOOM trials" and row["request"] == ALL_FIELDS}
    assert verdicts["ran"]["FITS"] == "1"
    assert verdicts["ran out of memory"]["DOES_NOT_FIT"] == "1"
    neighbours = [row["run"] for row in table_with(report, "run", "settings")]
    at = neighbours.index("bloom-chronicles-prequel-087")
    assert neighbours[at + 1] == "bloom-chronicles-prequel-086"
    calculated = [row for row in table_with(report, "definition", "which", "within 3 %")
                  if row["definition"] == "calculated" and row["which"] == "fully known"
                  and row["request"] == ALL_FIELDS]
    assert number(calculated[0]["90th percentile of sizes"]) <= 0.1
    ranges = table_with(report, "row", "open", "inside")
    assert [row["row"] for row in ranges] == ["litgpt-finetune-table-052"]
    assert float(ranges[0]["lowest, GiB"]) < float(ranges[0]["highest, GiB"])


def check_errors():
    assert run().returncode == 2
    assert run("--megatron_ci").returncode == 2
    assert run("--nonsense=1").returncode == 2
    missing = run("--megatron_ci=/does/not/exist.csv")
    assert missing.returncode == 1 and "/does/not/exist.csv" in missing.stderr
    with tempfile.TemporaryDirectory() as folder:
        broken = os.path.join(folder, "broken.csv")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("test,all_args\nonly one cell\n")
        assert run(f"--megatron_ci={broken}").returncode == 1
        with open(broken, "w", encoding="utf-8") as file:
            file.write("test,all_args,hardware\na,not JSON,h100\n")
        assert run(f"--megatron_ci={broken}").returncode == 0
        assert run(f"--megatron_ci={broken}", f"--output={folder}/none/a.md").returncode == 1
        assert run(f"--megatron_ci={broken}", f"--figures={folder}/none/a.csv").returncode == 1


def main():
    check_megatron()
    check_measured()
    check_errors()
    print("reports on the small tables add up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
