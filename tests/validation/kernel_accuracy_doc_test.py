#!/usr/bin/python3
"""docs/accuracy_kernels.md is what kernel_accuracy says of the shared tables.

With --write, writes it. Exits with 77 (skipped) where the shared tables are absent.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
TABLES = os.path.join(SHARED, "data", "kernels")
DOCUMENT = os.path.join(ROOT, "docs", "accuracy_kernels.md")
SKIPPED = 77


def main():
    if not os.path.exists(os.path.join(TABLES, "gemm_dev.csv")):
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return SKIPPED
    text = subprocess.run([os.path.join(BIN, "kernel_accuracy"), TABLES], check=True,
                          capture_output=True, text=True).stdout
    if "--write" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    with open(DOCUMENT, encoding="utf-8") as file:
        written = file.read()
    stale = [line for line in text.splitlines() if line not in set(written.splitlines())]
    if written == text:
        return 0
    print("docs/accuracy_kernels.md is out of date: run this with --write. E.g.", *stale[:10],
          sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
