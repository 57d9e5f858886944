#!/usr/bin/python3
"""docs/accuracy_memory.md is what memory_accuracy says of the shared tables, and within its aim.

With --write, writes it. Exits with 77 (skipped) where the shared tables are absent.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
DOCUMENT = os.path.join(ROOT, "docs", "accuracy_memory.md")
AIM = 3.0  # percent, the median of fully known rows


def report():
    files = {"megatron_ci": "megatron_ci_memory.csv", "measured_runs": "measured_runs.csv"}
    flags = [f"--{flag}={os.path.join(SHARED, 'data', name)}" for flag, name in files.items()]
    return subprocess.run([os.path.join(BIN, "memory_accuracy"), *flags], check=True,
                          capture_output=True, text=True).stdout


def known_medians(text):
    rows = re.findall(r"^\| (allocated|reserved|process|calculated) \| ([^|]+) \| all fields given "
                      r"\| fully known \| (\d+) \|[^|]*\|[^|]*\| ([\d.]+) %", text, re.MULTILINE)
    return [(definition, source, float(median)) for definition, source, _, median in rows]


def main():
    if not os.path.exists(os.path.join(SHARED, "data", "megatron_ci_memory.csv")):
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return 77
    text = report()
    if "--write" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    medians = known_medians(text)
    assert len(medians) >= 4, medians
    for definition, source, median in medians:
        print(f"{definition}, {source}: median {median} %")
        assert median <= AIM
    with open(DOCUMENT, encoding="utf-8") as file:
        if file.read() != text:
            print("docs/accuracy_memory.md is out of date: run "
                  "tests/validation/accuracy_doc_test.py --write")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
