#!/usr/bin/python3
"""docs/step_time.md has the table that operator_accuracy prints. With --write, writes it."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
DOCUMENT = os.path.join(ROOT, "docs", "step_time.md")
ROWS = os.path.join(ROOT, "tests", "golden", "training_operators.csv")


def main():
    said = subprocess.run([os.path.join(BIN, "operator_accuracy"), ROWS], check=True,
                          capture_output=True, text=True).stdout
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    table = re.search(r"^\| GPU \| kernel \| pass \|.*?\n(?=\n)", text, re.MULTILINE | re.DOTALL)
    if "--write" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text.replace(table[0], said))
    elif table[0] != said:
        sys.exit("docs/step_time.md is out of date: run this with --write")


main()
