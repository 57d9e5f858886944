#!/usr/bin/python3
"""docs/accuracy_memory.md and its tables are what the service answers for the shared tables.

With --write, writes them. Exits with 77 (skipped) where the shared tables are absent.
"""

import sys

from cells import api, read_csv, shared
from measured_case import ALL_FIELDS
from memory_accuracy import all_tables, totals
from memory_answers import answers_of
from memory_tables import FULLY_KNOWN
from tables import Table, chosen, renew

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
        return api.SKIPPED
    with api.own_server() as server:
        answers = answers_of(server, *map(read_csv, files))
    tables = all_tables(answers)
    check_aim(tables["errors"])
    return renew("accuracy_memory", totals(answers, tables), tables)


if __name__ == "__main__":
    sys.exit(main())
