#!/usr/bin/python3
"""The default MFU's stated source: 133 published bf16 runs of dense models.

Prints and checks the median and the tenth percentile that engine/run/whole_run.h quotes.
Exits with 77 (skipped) where the shared tables are absent.
"""

import csv
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
TABLE = os.path.join(SHARED, "data", "measured_runs.csv")


def main():
    if not os.path.exists(TABLE):
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return 77
    with open(TABLE, newline="", encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table)
                if row["mfu"] and row["from_memory"] != "True" and not row["experts"]
                and row["precision"].lower() == "bf16"]
    ratios = [float(row["mfu"]) for row in rows]
    median = statistics.median(ratios)
    tenth = statistics.quantiles(ratios, n=10)[0]
    print(f"{len(ratios)} runs: median {median:.4f}, tenth percentile {tenth:.4f}")
    assert len(ratios) == 133
    assert f"{median:.2f}" == "0.53"
    assert f"{tenth:.2f}" == "0.39"
    return 0


if __name__ == "__main__":
    sys.exit(main())
