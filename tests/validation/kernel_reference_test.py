#!/usr/bin/python3
"""The published points that the engine has are what scripts make of the shared tables, and the
errors that it states are those of the tables. Exits with 77 (skipped) where these are absent."""

import os
import subprocess
import sys
import tempfile

from attention_accuracy import attention_ceilings
from cells import ROOT, read_csv, shared
from expert_accuracy import layers_over_parts
from fits import Fits
from kernel_rows import attention_table, expert_table
from matmul_accuracy import matmul_ceilings

FOLDER = os.path.join(ROOT, "engine", "hardware", "reference")
SCRIPTS = {  # what each takes below data/kernels, and how many files it makes at least
    "make_matmul_reference.py": ("gemm_dev.csv", 4),
    "make_attention_reference.py": ("", 8),
    "make_collectives_reference.py": ("collectives.csv", 2),
}
ROUNDING = 0.012  # of stated quantiles
SKIPPED = 77


def read(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_files(tables):
    for script, (table, count) in SCRIPTS.items():
        program = os.path.join(FOLDER, script)
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([program, os.path.join(tables, table), made], check=True)
            names = sorted(os.listdir(made))
            subprocess.run(["clang-format", "-i", f"--style=file:{ROOT}/.clang-format",
                            *(os.path.join(made, name) for name in names)], check=True)
            assert len(names) >= count, (script, names)
            for name in names:
                assert read(os.path.join(FOLDER, name)) == read(os.path.join(made, name)), (
                    f"{name}: run {script} and clang-format again")
        assert subprocess.run([program], capture_output=True, check=False).returncode != 0


def check_stated(stated, seen):
    """`stated` are the percentiles, `seen` the Ratios."""
    assert seen.count > 5000, seen
    for one, other in zip(stated, seen[1:]):
        assert abs(one - other) <= ROUNDING, (stated, seen)


def check_ceilings(tables, fits):
    matmuls = matmul_ceilings(read_csv(os.path.join(tables, "gemm_dev.csv")), fits)
    attention = attention_ceilings(
        attention_table(read_csv(os.path.join(tables, "attention_forward_dev.csv")), fits), fits)
    for dtype in ("bf16", "fp8"):
        stated = fits.ask("stated_errors", type=dtype)
        for source in ("datasheet", "best rates"):
            check_stated(stated[source], matmuls[source, dtype])
        check_stated(stated["attention"], attention[dtype])


def check_layers(tables, fits):
    """ErrorOfGroupedProducts() is of all rows of a type; its high ends that trainings set are above
    the tables'."""
    table = expert_table(read_csv(os.path.join(tables, "moe_grouped_gemm_dev.csv")), fits)
    found = {name.removesuffix(", all"): seen
             for name, seen in layers_over_parts(table, fits).items() if name.endswith(", all")}
    assert len(found) == 4, found
    for dtype, seen in found.items():
        p10, median, p90 = fits.ask("stated_errors", type=dtype)["expert products"]
        assert abs(p10 - seen.p10) <= 0.01 and abs(median - seen.median) <= 0.01, (dtype, seen)
        assert p90 >= seen.p90 - 0.01, (dtype, seen)


def main():
    tables = shared("data/kernels")
    if not tables:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return SKIPPED
    check_files(tables)
    with Fits() as fits:
        check_ceilings(tables, fits)
        check_layers(tables, fits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
