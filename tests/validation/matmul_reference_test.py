#!/usr/bin/python3
"""The reference tables of multiplications are what make_matmul_reference.py makes of times.

Exits with 77 (skipped) where the shared tables are absent.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
REFERENCE = os.path.join(ROOT, "engine", "hardware", "reference")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    table = os.path.join(SHARED, "data", "kernels", "gemm_dev.csv")
    if not os.path.exists(table):
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return 77
    script = os.path.join(REFERENCE, "make_matmul_reference.py")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([script, table, folder], check=True)
        made = sorted(os.listdir(folder))
        assert len(made) == 5, made
        for name in made:
            assert read(os.path.join(folder, name)) == read(os.path.join(REFERENCE, name)), name
    assert subprocess.run([script], capture_output=True, check=False).returncode == 2
    print(f"{len(made)} files are as made")
    return 0


if __name__ == "__main__":
    sys.exit(main())
