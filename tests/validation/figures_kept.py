#!/usr/bin/python3
"""Every figure of the tables that a page had at a revision stands in a row of its tables now, or of
CSV files.

  figures_kept.py REVISION PAGE.md FILE.csv|FOLDER...

Tables of words alone have no figures. Lists the rows whose figures no row has.
"""

import collections
import csv
import pathlib
import re
import subprocess
import sys

FIGURE = re.compile(r"[-+]?\d+(?:\.\d+)?")


def figures(text: str) -> collections.Counter:
    """Numbers, without separators of thousands."""
    return collections.Counter(FIGURE.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)))


def page_rows(text: str) -> list[str]:
    """Rows of tables below their headings."""
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [row for table in tables for row in table.splitlines()[2:]]


def csv_rows(names: list[str]) -> list[collections.Counter]:
    paths = [pathlib.Path(name) for name in names]
    files = [file for p in paths for file in (sorted(p.glob("*.csv")) if p.is_dir() else [p])]
    out = []
    for path in files:
        with open(path, newline="", encoding="utf-8") as file:
            out += [figures(" ".join(row)) for row in csv.reader(file)]
    return out


def main() -> int:
    revision, page, *names = sys.argv[1:]
    before = subprocess.run(
        ["git", "show", f"{revision}:{page}"], check=True, capture_output=True, text=True
    ).stdout
    kept = csv_rows(names)
    kept += map(figures, page_rows(pathlib.Path(page).read_text(encoding="utf-8")))
    rows = [row for row in page_rows(before) if figures(row)]
    lost = [row for row in rows if not any(figures(row) <= found for found in kept)]
    print(*lost, sep="\n", end="\n" if lost else "")
    print(f"{page}: {len(rows)} rows with {sum(figures(row).total() for row in rows)} figures at "
          f"{revision}, {len(lost)} of them in no row of the files")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
