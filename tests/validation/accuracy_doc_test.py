#!/usr/bin/python3
"""docs/accuracy_memory.md and its tables are what the service answers for the shared tables.

With --write, writes them. Exits with 77 (skipped) where the shared tables are absent.
"""

import os
import sys

from cells import ROOT, read_csv, shared
from measured_case import ALL_FIELDS
from memory_accuracy import all_tables, totals
from memory_answers import answers_of
from memory_tables import FULLY_KNOWN
from sextant_api import SKIPPED, Sextantd
from tables import Table, chosen, csv_text, stale, with_block

DOCUMENT = os.path.join(ROOT, "docs", "accuracy_memory.md")
FOLDER = os.path.join(ROOT, "docs", "accuracy_memory")
MARK = "<!-- totals: tests/validation/accuracy_doc_test.py --write -->"
AIM = 3.0  # percent, the median of fully known rows


def check_aim(errors: Table) -> None:
    columns = ["definition", "source", "median of sizes %"]
    known = chosen(errors, columns, which=FULLY_KNOWN, request=ALL_FIELDS)
    medians = [row for row in known.rows if row[2]]
    assert len(medians) >= 4, medians
    for definition, source, median in medians:
        print(f"{definition}, {source}: median {median} %")
        assert float(median) <= AIM


def main() -> int:
    files = [shared(f"data/{name}.csv") for name in ("megatron_ci_memory", "measured_runs")]
    if None in files:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return SKIPPED
    with Sextantd() as server:
        answers = answers_of(server, *map(read_csv, files))
    tables = all_tables(answers)
    check_aim(tables["errors"])
    with open(DOCUMENT, encoding="utf-8") as file:
        page = with_block(file.read(), MARK, totals(answers, tables))
    wanted = {os.path.join(FOLDER, f"{name}.csv"): csv_text(t) for name, t in tables.items()}
    wanted[DOCUMENT] = page
    return int(any([stale(path, text, "--write" in sys.argv) for path, text in wanted.items()]))


if __name__ == "__main__":
    sys.exit(main())
