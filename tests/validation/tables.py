"""Tables as cells of text, and reports made of them."""

import csv
import io
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

from cells import ROOT, api, load, shared


class Table(NamedTuple):
    """Units of figures are in the columns' names; a page aligns "name:" to the right."""

    columns: list[str]
    rows: list[list[str]]


def csv_text(table: Table) -> str:
    out = io.StringIO()
    head = [column.removesuffix(":") for column in table.columns]
    csv.writer(out, lineterminator="\n").writerows([head, *table.rows])
    return out.getvalue()


def line(cells: list[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n"


def markdown(table: Table) -> str:
    head = line([column.removesuffix(":") for column in table.columns])
    rule = line(["---:" if column.endswith(":") else "---" for column in table.columns])
    return head + rule + "".join(map(line, table.rows))


def grouped(items: list, key) -> dict:
    """Lists of items with the same key(item)."""
    out: dict = {}
    for item in items:
        out.setdefault(key(item), []).append(item)
    return out


def chosen(table: Table, columns: list[str], **where: str) -> Table:
    """Some columns of the rows that have these cells."""
    at = [table.columns.index(column) for column in columns]
    rows = [row for row in table.rows if where.items() <= dict(zip(table.columns, row)).items()]
    return Table(columns, [[row[i] for i in at] for row in rows])


def with_block(text: str, mark: str, block: str) -> str:
    """A page with `block` after the line of `mark`, up to the next heading."""
    before, after = text.split(mark + "\n")
    heading = after.find("\n## ")
    return f"{before}{mark}\n{block}" + (after[heading:] if heading >= 0 else "")


def stale(path: str, text: str, write: bool) -> bool:
    """Whether a file is other than `text`; with `write`, makes it so."""
    file = Path(path)
    if write:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return False
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    print(f"{path} is out of date: run this with --write")
    return True


def csv_files(folder: str, tables: dict[str, Table]) -> dict[str, str]:
    """Texts by path."""
    return {os.path.join(folder, f"{name}.csv"): csv_text(t) for name, t in tables.items()}


def renew(page: str, block: str, tables: dict[str, Table]) -> int:
    """1 where the page, in docs, lacks the block, or its folder has other tables; with the running
    script's --write, makes them so."""
    path = os.path.join(ROOT, "docs", f"{page}.md")
    mark = f"<!-- totals: tests/validation/{os.path.basename(sys.argv[0])} --write -->"
    wanted = csv_files(path.removesuffix(".md"), tables)
    wanted[path] = with_block(Path(path).read_text(encoding="utf-8"), mark, block)
    return int(any([stale(*each, "--write" in sys.argv) for each in wanted.items()]))


class Report(NamedTuple):
    """How well something is predicted."""

    totals: str  # the part of the page with figures
    tables: dict[str, Table]  # by the names of their files
    more: dict[str, Table] = {}  # that no page has


def check_aims(page: str, tables: dict[str, Table]) -> None:
    """Asserts what aims.yaml has of the page."""
    for aim in load("aims.yaml")[page]:
        table = tables[aim["table"]]
        rows = [row for row in (dict(zip(table.columns, cells)) for cells in table.rows)
                if all(re.fullmatch(text, row[column]) for column, text in aim["where"].items())]
        assert len(rows) >= aim.get("rows", 1), (aim, len(rows))
        for row in rows:
            for column, (least, most) in aim["limits"].items():
                assert least <= float(row[column]) <= most, (row, column)
            for lower, higher in aim.get("below", ()):
                assert float(row[lower]) < float(row[higher]), (row, lower)


def report_main(page: str, names: list[str], report_of) -> int:
    """The main() of a script with a report on published tables.

      SCRIPT [--write]       renew() of the page by the shared tables, which are `names` below data.
                             Checks the aims. 77 (skipped) where shared tables are absent.
      SCRIPT TABLE... OUTPUT by others of the same columns: writes the report's tables into the
                             folder OUTPUT, and prints the totals
    """
    *given, output = sys.argv[1:] or [""]
    if len(given) == len(names):
        report = report_of(*given)
        for path, text in csv_files(output, report.tables | report.more).items():
            stale(path, text, write=True)
        print(report.totals, end="")
        return 0
    if given or output not in ("", "--write"):
        sys.exit(f"usage: {sys.argv[0]} [--write | {' '.join(names)} OUTPUT]")
    files = [shared(f"data/{name}") for name in names]
    if None in files:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return api.SKIPPED
    report = report_of(*files)
    check_aims(page, report.tables)
    return renew(page, report.totals, report.tables)
