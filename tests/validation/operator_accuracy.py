#!/usr/bin/python3
"""Compares the times that a plan's operations get with published operators of training steps, in
the layouts of both gradients.

  operator_accuracy.py TABLE.csv  prints a table in Markdown
  operator_accuracy.py [--write]  1 where docs/step_time.md lacks the one of
                                  tests/golden/training_operators.csv; with --write, writes it
"""

import os
import re
import sys

from cells import ROOT, read_csv
from fits import Fits
from tables import Table, grouped, markdown, stale

ROWS = os.path.join(ROOT, "tests", "golden", "training_operators.csv")
COLUMNS = ["GPU", "kernel", "pass", "rows:", "median / p90 %:", "bias %:", "in interval %:"]


def quantile(values, share):
    return sorted(values)[int(share * (len(values) - 1) + 0.5)]


def operator_table(rows):
    """Errors by GPU, kernel and pass."""
    scores = {}
    with Fits() as fits:
        for gpu, of_gpu in grouped(rows, lambda row: row["gpu"]).items():
            times = fits.ask("operator_times", gpu=gpu, operators=[
                [row["kernel"], row["pass"], [int(row[size] or 0) for size in "abcdef"]]
                for row in of_gpu])
            for row, (expected, low, high) in zip(of_gpu, times):
                measured = float(row["seconds"])
                scores.setdefault((gpu, row["kernel"], row["pass"]), []).append(
                    (expected / measured, low <= measured <= high))
    lines = []
    for key, scored in sorted(scores.items()):
        ratios = [ratio for ratio, _ in scored]
        errors = [abs(ratio - 1) for ratio in ratios]
        inside = sum(held for _, held in scored) / len(scored)
        lines.append([*key, str(len(scored)),
                      f"{100 * quantile(errors, 0.5):.1f} / {100 * quantile(errors, 0.9):.1f}",
                      f"{100 * (quantile(ratios, 0.5) - 1):+.1f}", f"{100 * inside:.0f}"])
    return markdown(Table(COLUMNS, lines))


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        print(operator_table(read_csv(sys.argv[1])), end="")
        return 0
    page = os.path.join(ROOT, "docs", "step_time.md")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    kept = re.search(r"^\| GPU \| kernel \| pass \|.*?\n(?=\n)", text, re.MULTILINE | re.DOTALL)[0]
    return stale(page, text.replace(kept, operator_table(read_csv(ROWS))), "--write" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
