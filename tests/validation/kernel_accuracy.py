#!/usr/bin/python3
"""Compares predicted times of kernels with published ones, and writes a report in Markdown.

  kernel_accuracy.py DIRECTORY

Takes every table of the directory whose name a section knows. Points of calibrations are never
scored.
"""

import os
import sys

from attention_accuracy import (DOMAIN, attention_ceilings, attention_lacks, attention_scores,
                                every_second)
from cells import read_csv
from collective_accuracy import collectives_report
from expert_accuracy import either_half, expert_lacks, expert_scores, layers_over_parts
from fits import Fits
from kernel_requests import (attention_requests, collective_requests, expert_requests,
                             matmul_requests)
from kernel_rows import attention_table, expert_table
from kernel_scores import lack_table, score_table
from matmul_accuracy import matmul_ceilings, matmul_scores
from sextant_api import Sextantd

PREAMBLE = """# Predicted and published times of kernels

Made by `build/release/bin/kernel_accuracy $SEXTANT_SHARED_DIR/data/kernels`, which takes any
directory of such tables. Each table's calibration is chosen from its own rows by a fixed
rule; its points and checks are never scored. Errors are |predicted / measured - 1| in per
cent, bias the median of predicted over measured less 1. The datasheet's roofline is max(FLOPs
/ peak, bytes / bandwidth); the measured peaks' has the best rates of the calibration's points
instead. "By requests" asks the service, as a user would, for rows that are no points of the
calibrations that the engine brings along; intervals aim at 80 %. How the times are made, and
why some are worse: [kernels_matmul.md](kernels_matmul.md),
[kernels_attention.md](kernels_attention.md), [links.md](links.md).

"""


def ceilings_section(ceilings):
    """`ceilings` are Ratios by their names."""
    return ("\nBy two ceilings alone, (c^2 + m^2)^(1/2) + floor:\n\n"
            + lack_table([(name, each, None) for name, each in ceilings.items()]))


def lacks_section(lacks):
    return f"\nWhat a calibration lacks, and what that costs:\n\n{lacks.table()}"


def matmuls(rows, fits, server):
    sources = {"best rates": "best measured rates", "datasheet": "datasheet x published share"}
    ceilings = {f"{sources[source]}, {dtype}": each
                for (source, dtype), each in matmul_ceilings(rows, fits).items()}
    return (score_table(*matmul_scores(rows, fits))
            + f"\nBy requests:\n\n{matmul_requests(rows, fits, server)}"
            + (ceilings_section(ceilings) if ceilings else ""))


def attention(rows, fits, server):
    table = attention_table(rows, fits)
    ceilings = {f"datasheet x published share, {dtype}": each
                for dtype, each in attention_ceilings(table, fits).items()}
    limits = attention_scores(table, fits, every_second, [DOMAIN])
    return (score_table(*attention_scores(table, fits))
            + f"\nBy requests:\n\n{attention_requests(table, fits, server)}"
            + f"\nWith every second row as a point:\n\n{score_table(*limits)}"
            + lacks_section(attention_lacks(table, fits)) + ceilings_section(ceilings))


def latent_attention(rows, fits, server):
    table = attention_table(rows, fits)
    return (score_table(*attention_scores(table, fits))
            + f"\nBy requests:\n\n{attention_requests(table, fits, server)}")


def experts(rows, fits, server):
    table = expert_table(rows, fits)
    halves = expert_scores(table, fits, either_half)
    parts = [(name, each, None) for name, each in layers_over_parts(table, fits).items()]
    return (score_table(*expert_scores(table, fits))
            + f"\nBy requests:\n\n{expert_requests(table, fits, server)}"
            + f"\nEach half of the rows by the other half:\n\n{score_table(*halves)}"
            + lacks_section(expert_lacks(table, fits))
            + "\nThe layer over the sum of its parts, each product by "
            "GroupedMatmulPredictor::PredictProduct():\n\n"
            + lack_table(parts, "type; rows per expert, GPU"))


def collectives(rows, fits, server):
    return (collectives_report(rows, fits)
            + f"\nBy requests:\n\n{collective_requests(rows, fits, server)}")


# By what the names of their tables start with.
SECTIONS = {"gemm": ("Matrix multiplications", matmuls), "attention": ("Attention", attention),
            "mla": ("Latent attention", latent_attention), "moe": ("Layers of experts", experts),
            "collectives": ("Collectives", collectives)}


def report_of(directory):
    parts = []
    with Fits() as fits, Sextantd() as server:
        for prefix, (title, section) in SECTIONS.items():
            for name in sorted(os.listdir(directory)):
                if name.startswith(prefix) and name.endswith(".csv"):
                    rows = read_csv(os.path.join(directory, name))
                    parts.append(f"## {title}\n\n{name}: {len(rows)} rows.\n\n"
                                 f"{section(rows, fits, server)}\n")
    return PREAMBLE + "".join(parts)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: kernel_accuracy.py DIRECTORY")
    print(report_of(sys.argv[1]), end="")
