#!/usr/bin/python3
"""docs/models.md and docs/models.csv list tests/golden/model_presets.csv. --write writes them."""

import csv
import io
import os
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = """# Model presets

Names are compared without regard to case, blanks, dashes and underscores; a separator between two
digits counts ("opt-1.3b" is not "opt-13b"). Hugging Face's ids and Ollama's tags are known too
(`meta-llama/Llama-3.1-70B-Instruct`, `llama3.1:70b`): the organisation, words for a stage of
training (base, chat, instruct, it, pt, hf) and the date of release are passed over, since they
change no shape, and the plan says which preset it took. `sextant models WORD...` lists them.

Written by `tests/golden/models_doc_test.py --write`
from `tests/golden/model_presets.csv`, against which a test counts every preset, to the integer.
A preset is what its model's published config.json says, sliding windows included; its comment in
`engine/model/presets/presets_*.cc` says where that was read. A model that is not here can be given
as a Hugging Face config.json: [config_json.md](config_json.md).

Active parameters are those that one token meets, embeddings and modules of multi-token prediction
included, where they are not all; what is published of them leaves out one or the other and is
rounded, as its source says. `deepseek-v3` and `deepseek-r1` hold the module of multi-token
prediction that they were trained with. The Gemma 3 and Llama 4 presets are the text models.

Parameters, active ones and the source of each total: [models.csv](models.csv). The names:

"""


def active(row):
    """2.4B without token embedding, from memory; the exact count where one is published."""
    if row["active_low"] == row["active_high"] != "":
        return f"{int(row['active_low']):,} ({row['active_source']})"
    return row["active_source"]


def documents():
    """The page and the table, by their names."""
    path = os.path.join(ROOT, "tests", "golden", "model_presets.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = textwrap.fill(" ".join(row["name"] for row in rows), width=96, initial_indent="    ",
                          subsequent_indent="    ", break_on_hyphens=False)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["preset", "parameters", "active, as published", "total known from"])
    writer.writerows([row["name"], row["total_parameters"], active(row), row["total_source"]]
                     for row in rows)
    return {"models.md": HEAD + names + "\n", "models.csv": table.getvalue()}


def main():
    for name, text in documents().items():
        path = os.path.join(ROOT, "docs", name)
        if "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                print(f"docs/{name} is out of date: run tests/golden/models_doc_test.py --write")
                return 1
    print("docs/models.md lists every preset")
    return 0


if __name__ == "__main__":
    sys.exit(main())
