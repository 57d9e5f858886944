#!/usr/bin/python3
"""kernel_accuracy on made tables, whose errors are worked out again here; and, where the shared
tables are there, within its aims."""

import csv
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
PROGRAM = os.path.join(os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin")),
                       "kernel_accuracy")
COLUMNS = ["gpu", "dtype", "framework", "framework_version", "m", "n", "k", "seconds"]
ANCHORS = [(m, n, k) for m in (1, 16, 64, 256, 1024, 4096, 8192)
           for n in (1024, 4096, 16384) for k in (1024, 4096, 16384)]
DOMAIN = "m to 8192, n and k 1024 to 16384"
# Median and 90th percentile of errors in the domain, in per cent.
AIMS = {("a100-sxm-80", "bf16"): (6.6, 15), ("h100-sxm", "bf16"): (4, 10),
        ("h200-sxm", "bf16"): (4, 10), ("h100-sxm", "fp8"): (4, 10), ("h200-sxm", "fp8"): (4, 10),
        ("b200-sxm", "bf16"): (6, 15), ("h100-sxm", "fp8_block"): (7, 40),
        ("h200-sxm", "fp8_block"): (7, 40), ("b200-sxm", "fp8_block"): (7, 40)}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def report_of(rows, columns=None, name="gemm_made.csv"):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns or COLUMNS)
            writer.writerows(rows)
        return run(folder)


def scores(report):
    """{(gpu, type, domain): {column: cell}}"""
    out, head = {}, None
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| GPU"):
            head = cells
        elif head and line.startswith("|") and set(line) - set("|-: "):
            row = dict(zip(head, cells))
            if "shapes" in row and not row["kernel"].startswith("from "):
                out[row["GPU"], row["type"], row["shapes"]] = row
    return out


def pair(cell):
    return [float(part) for part in cell.split("/")]


def law(m, n, k):
    """Seconds of a device of 7e14 FLOP/s and 2.5e12 bytes/s that adds them, and 5 us."""
    return 2 * m * n * k / 7e14 + 2 * (m * k + n * k + m * n) / 2.5e12 + 5e-6


def check_made():
    draw = random.Random(2)
    others = {tuple(int(2 ** draw.uniform(low, 14)) for low in (4, 10, 10)) for _ in range(300)}
    others = sorted(shape for shape in others - set(ANCHORS) if shape[0] <= 8192)
    rows = [("h100-sxm", "bf16", "made", "1", *shape, law(*shape)) for shape in ANCHORS + others]
    result = report_of(rows)
    assert result.returncode == 0, result.stderr
    assert result.stdout == report_of(rows).stdout
    score = scores(result.stdout)["h100-sxm", "bf16", DOMAIN]
    # No shape of the list of checks is there, and none of the points but the anchors.
    assert int(score["points"]) == 63 and int(score["scored"]) == len(others)
    ours = pair(score["median / p90 %"])
    assert ours[0] < 2 and ours[1] < 6, score
    # The datasheet's 989.4 TFLOP/s and 3.35 TB/s.
    errors = sorted(1 - max(2 * m * n * k / 989.4e12, 2 * (m * k + n * k + m * n) / 3.35e12)
                    / law(m, n, k) for m, n, k in others)
    median, p90 = pair(score["datasheet roofline"])
    assert math.isclose(median, 100 * statistics.median(errors), abs_tol=0.051), score
    assert math.isclose(p90, 100 * errors[math.ceil(0.9 * len(errors)) - 1], abs_tol=0.051), score


def check_faults():
    assert run().returncode == 2
    assert run("/does/not/exist").returncode == 1
    assert report_of([], name="other.csv").returncode == 1
    lacking = report_of([("h100-sxm", "bf16", "made", "1", 1, 2, 3)], COLUMNS[:-1])
    assert lacking.returncode == 1 and "seconds" in lacking.stderr
    few = report_of([("h100-sxm", "bf16", "made", "1", *ANCHORS[0], 1e-3)])
    assert few.returncode == 0 and "Left out: h100-sxm bf16 made 1: 1 rows" in few.stdout
    # Ten times what an H100 can do.
    wrong = report_of([("h100-sxm", "bf16", "made", "1", *shape, law(*shape) / 10)
                       for shape in ANCHORS])
    assert wrong.returncode == 0 and "Left out" in wrong.stdout and "too short" in wrong.stdout


def check_aims():
    folder = os.path.join(SHARED, "data", "kernels")
    if not os.path.exists(os.path.join(folder, "gemm_dev.csv")):
        print("no shared tables: the aims are not checked")
        return
    result = run(folder)
    assert result.returncode == 0, result.stderr
    found = scores(result.stdout)
    for (gpu, dtype), aim in AIMS.items():
        row = found[gpu, dtype, DOMAIN]
        ours = pair(row["median / p90 %"])
        print(f"{gpu} {dtype}: {row['median / p90 %']} %, aim {aim[0]} / {aim[1]} %")
        assert int(row["points"]) <= 200
        assert ours[0] <= aim[0] and ours[1] <= aim[1]
        for roofline in ("datasheet roofline", "measured-peak roofline"):
            assert ours[0] < pair(row[roofline])[0]


def main():
    check_made()
    check_faults()
    check_aims()
    return 0


if __name__ == "__main__":
    sys.exit(main())
