#!/usr/bin/python3
"""docs/models.md is the table of tests/golden/model_presets.csv. With --write, writes it."""

import csv
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join(ROOT, "docs", "models.md")
HEAD = """# Model presets

Names are compared without regard to case, blanks, dashes and underscores; a separator between two
digits counts ("opt-1.3b" is not "opt-13b"). Written by `tests/golden/models_doc_test.py --write`
from `tests/golden/model_presets.csv`, against which a test counts every preset, to the integer.
A preset is what its model's published config.json says, sliding windows included; where that was
read stands beside it in `engine/model/presets/presets_*.cc`. A model that is not here can be given
as a Hugging Face config.json: [config_json.md](config_json.md).

Active parameters are those that one token meets, embeddings and modules of multi-token prediction
included, where they are not all; what is published of them leaves out one or the other and is
rounded, as its source says. `deepseek-v3` and `deepseek-r1` hold the module of multi-token
prediction that they were trained with. The Gemma 3 and Llama 4 presets are the text models.

| preset | parameters | active, as published | total known from |
| --- | ---: | --- | --- |
"""


def active(row):
    """2.4B without token embedding, from memory; the exact count where one is published."""
    if row["active_low"] == row["active_high"] != "":
        return f"{int(row['active_low']):,} ({row['active_source']})"
    return row["active_source"]


def document():
    path = os.path.join(ROOT, "tests", "golden", "model_presets.csv")
    with open(path, newline="", encoding="utf-8") as table:
        return HEAD + "".join(
            f"| `{row['name']}` | {int(row['total_parameters']):,} | {active(row)} | "
            f"{row['total_source']} |\n" for row in csv.DictReader(table))


def main():
    if "--write" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(document())
        return 0
    with open(DOCUMENT, encoding="utf-8") as file:
        if file.read() != document():
            print("docs/models.md is out of date: run tests/golden/models_doc_test.py --write")
            return 1
    print("docs/models.md lists every preset")
    return 0


if __name__ == "__main__":
    sys.exit(main())
