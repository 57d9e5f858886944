#!/usr/bin/python3
"""The errors that the engine states are those of docs/accuracy_kernels/ratios.csv, and the points
that it has are what scripts make of the shared tables. Exits with 77 (skipped) where these are
absent."""

import filecmp
import os
import subprocess
import sys
import tempfile

from cells import ROOT, api, read_csv, shared
from fits import Fits

FOLDER = os.path.join(ROOT, "engine", "hardware", "reference")
SCRIPTS = {  # what each takes below data/kernels, and how many files it makes at least
    "make_matmul_reference.py": ("gemm_dev.csv", 4),
    "make_attention_reference.py": ("", 8),
    "make_collectives_reference.py": ("collectives.csv", 2),
}
RATIOS = os.path.join(ROOT, "docs", "accuracy_kernels", "ratios.csv")
# What stated_errors calls a row, by "expected by", "kernel" and "of".
STATED = {("ceilings", "matmul", "best rates"): "best rates",
          ("ceilings", "matmul", "datasheet"): "datasheet",
          ("ceilings", "attention", "datasheet"): "attention",
          ("a layer's parts", "experts", "all"): "expert products"}
PERCENTILES = ("measured over expected: p10", "median", "p90")
ROUNDING = 0.012


def check_files(tables):
    for script, (table, count) in SCRIPTS.items():
        program = os.path.join(FOLDER, script)
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([program, os.path.join(tables, table), made], check=True)
            names = sorted(os.listdir(made))
            subprocess.run(["clang-format", "-i", f"--style=file:{ROOT}/.clang-format",
                            *(os.path.join(made, name) for name in names)], check=True)
            assert len(names) >= count, (script, names)
            _, *wrong = filecmp.cmpfiles(FOLDER, made, names, shallow=False)
            assert wrong == [[], []], f"{wrong}: run {script} and clang-format again"
        assert subprocess.run([program], capture_output=True, check=False).returncode != 0


def check_stated(fits):
    """High ends of experts, which trainings set, are above the table's."""
    rows = [(row, STATED.get((row["expected by"], row["kernel"], row["of"])))
            for row in read_csv(RATIOS)]
    rows = [(row, name) for row, name in rows if name]
    assert len(rows) == 10, rows
    for row, name in rows:
        stated = fits.ask("stated_errors", type=row["type"])[name]
        apart = [one - float(row[column]) for one, column in zip(stated, PERCENTILES)]
        assert min(apart) >= -ROUNDING and max(apart[:2]) <= ROUNDING, (row, stated)
        assert apart[2] <= ROUNDING or name == "expert products", (row, stated)


def main():
    with Fits() as fits:
        check_stated(fits)
    tables = shared("data/kernels")
    if not tables:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return api.SKIPPED
    check_files(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
