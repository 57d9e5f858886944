#!/usr/bin/python3
"""docs/accuracy_kernels.md and its tables are what the service answers for the shared tables,
within the aims.

With --write, writes them. Exits with 77 (skipped) where the shared tables are absent.
"""

import sys

from attention_accuracy import DOMAIN
from cells import api, shared
from kernel_accuracy import report_of, scores_of, totals
from matmul_accuracy import DOMAIN as MATMUL_DOMAIN
from tables import renew

# Median and 90th percentile of errors in the domain, in per cent.
MATMULS = {("a100-sxm-80", "bf16"): (6.6, 15), ("h100-sxm", "bf16"): (4, 10),
           ("h200-sxm", "bf16"): (4, 10), ("h100-sxm", "fp8"): (4, 10),
           ("h200-sxm", "fp8"): (4, 10), ("b200-sxm", "bf16"): (6, 15),
           ("h100-sxm", "fp8_block"): (7, 40), ("h200-sxm", "fp8_block"): (7, 40),
           ("b200-sxm", "fp8_block"): (7, 40)}
# Kernels of which two measurements of neighbouring shapes differ by more than 10 %:
# docs/kernels_attention.md. By GPU, type and the end of the name.
NOISY = {("h200-sxm", dtype, kernel) for dtype in ("bf16", "fp8")
         for kernel in ("fa3", "flash_attention_v3")} | {("b200-sxm", "fp8", "trtllm_mha")}
ATTENTION_KERNELS = 25
ROOFLINES = [f"{name} roofline median %:" for name in ("datasheet", "measured-peak")]


def check_matmuls(tables):
    own = {(row["GPU"], row["type"]): row for row in scores_of(tables, "matmuls", MATMUL_DOMAIN)}
    for key, (median, p90) in MATMULS.items():
        row = own[key]
        print(*key, row["median %:"], row["p90 %:"], f"aim {median} / {p90} %")
        assert float(row["median %:"]) <= median and float(row["p90 %:"]) <= p90, row
        assert int(row["points:"]) <= 200, row
        assert all(float(row["median %:"]) < float(row[roof]) for roof in ROOFLINES), row


def check_attention(tables):
    """Nine of ten shapes of 2048 to 16384 tokens within 10 %, which no roofline comes near."""
    kernels = [row for row in scores_of(tables, "attention", DOMAIN) if row["kernel"].count(" ") == 2]
    assert len(kernels) == ATTENTION_KERNELS, len(kernels)
    for row in kernels:
        noisy = (row["GPU"], row["type"], row["kernel"].split(" ")[2]) in NOISY
        assert float(row["p90 %:"]) <= (15 if noisy else 10), row
        assert float(row["median %:"]) <= 5 and int(row["points:"]) <= 200, row
        assert float(row["p90 %:"]) < float(row["measured-peak roofline p90 %:"]), row
        assert float(row["in interval %:"]) > 65, row


def main():
    tables = shared("data/kernels")
    if not tables:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return api.SKIPPED
    report = report_of(tables)
    check_matmuls(report.tables)
    check_attention(report.tables)
    return renew("accuracy_kernels", totals(report), report.tables)


if __name__ == "__main__":
    sys.exit(main())
