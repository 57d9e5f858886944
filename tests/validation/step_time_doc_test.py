#!/usr/bin/python3
"""docs/step_time.md has the table that operator_accuracy.py prints. With --write, writes it."""

import os
import re
import sys

from cells import ROOT, read_csv
from operator_accuracy import ROWS, operator_table

DOCUMENT = os.path.join(ROOT, "docs", "step_time.md")


def main():
    said = operator_table(read_csv(ROWS))
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    table = re.search(r"^\| GPU \| kernel \| pass \|.*?\n(?=\n)", text, re.MULTILINE | re.DOTALL)
    if "--write" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text.replace(table[0], said))
    elif table[0] != said:
        sys.exit("docs/step_time.md is out of date: run this with --write")


main()
