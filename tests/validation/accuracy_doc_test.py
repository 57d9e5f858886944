#!/usr/bin/python3
"""docs/accuracy_memory.md has what the service answers for the shared tables, within its aim.

Exits with 77 (skipped) where the shared tables are absent.
"""

import os
import re
import sys

from cells import ROOT, read_csv, shared
from memory_accuracy import memory_tables, sentences
from memory_answers import ALL_FIELDS, Answers, answers_of
from sextant_api import SKIPPED, Sextantd
from tables import Table, markdown

DOCUMENT = os.path.join(ROOT, "docs", "accuracy_memory.md")
AIM = 3.0  # percent, the median of fully known rows


def check_aim(errors: Table) -> None:
    known = [row for row in errors.rows if row[2:4] == [ALL_FIELDS, "fully known"] and row[5]]
    assert len(known) >= 4, known
    for row in known:
        print(f"{row[0]}, {row[1]}: median {row[7]}")
        assert float(row[7].removesuffix(" %")) <= AIM


def contradictions(table: Table) -> str:
    """A line for each source and contradiction."""
    rows: dict[tuple, list[str]] = {}
    for source, contradiction, row in table.rows:
        rows.setdefault((source, contradiction), []).append(row)
    lines = [f"- {source}, {why}: {'; '.join(names)}\n" for (source, why), names in rows.items()]
    return "".join(lines)


def check_page(text: str, tables: dict[str, Table], answers: Answers) -> None:
    """All tables but the first, of definitions, are `tables` in their order."""
    for sentence in [*sentences(answers), contradictions(tables.pop("contradictions"))]:
        assert sentence in text, sentence
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)[1:]
    wanted = {name: markdown(table) for name, table in tables.items() if table.rows}
    assert len(found) == len(wanted)
    for block, (name, table) in zip(found, wanted.items()):
        assert block == table, name


def main() -> int:
    files = [shared(f"data/{name}.csv") for name in ("megatron_ci_memory", "measured_runs")]
    if None in files:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return SKIPPED
    with Sextantd() as server:
        answers = answers_of(server, *map(read_csv, files))
    tables = memory_tables(answers)
    check_aim(tables["errors"])
    with open(DOCUMENT, encoding="utf-8") as file:
        check_page(file.read(), tables, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
