#!/usr/bin/python3
"""docs/accuracy_kernels.md is what kernel_accuracy.py says of the shared tables.

A table of more than 24 rows is a file of docs/accuracy_kernels/; the page keeps its rows over all
shapes. With --write, writes them. Exits with 77 (skipped) where the shared tables are absent.
"""

import csv
import io
import os
import sys

from cells import ROOT, shared
from kernel_accuracy import report_of

PAGE = "accuracy_kernels.md"
FOLDER = "accuracy_kernels"
LONGEST_TABLE = 24
SKIPPED = 77


def cells_of(line):
    return [cell.strip() for cell in line.strip("|\n").split("|")]


def csv_of(header, rows):
    """A table as CSV; a column "median / p90" is two."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    pair = [any(" / " in row[i] for row in rows) for i in range(len(header))]

    def split(row, heads):
        cells = []
        for cell, is_pair, head in zip(row, pair, header):
            if not is_pair:
                cells.append(cell)
            elif heads:
                name = head.replace("median / p90 %", "").strip()
                cells += [f"{name} median %".strip(), f"{name} p90 %".strip()]
            else:
                cells += (cell.split(" / ") + ["-"])[:2]
        return cells
    writer.writerow(split(header, True))
    writer.writerows(split(row, False) for row in rows)
    return out.getvalue()


def files_of(report):
    """The page and its CSV files, by their names below docs/."""
    page, files, section, table = [], {}, "", []

    def end_table():
        if len(table) <= LONGEST_TABLE + 2:
            page.extend(table)
            table.clear()
            return
        name = section.lower().replace(" ", "_")
        number = sum(path.startswith(f"{FOLDER}/{name}") for path in files) + 1
        path = f"{FOLDER}/{name}{'' if number == 1 else f'_{number}'}.csv"
        rows = [cells_of(line) for line in table]
        files[path] = csv_of(rows[0], rows[2:])
        kept = [line for line in table[2:]
                if any(cell.split(", ")[-1] == "all" for cell in cells_of(line))]
        page.extend([*table[:2], *kept, ""] if kept else [])
        page.append(f"{'All' if kept else 'By operation and version,'} {len(table) - 2} rows: "
                    f"[{path}]({path}).")
        table.clear()

    for line in report.splitlines():
        if line.startswith("|"):
            table.append(line)
            continue
        if table:
            end_table()
        if line.startswith("## "):
            section = line[3:]
        page.append(line)
    if table:
        end_table()
    files[PAGE] = "\n".join(page) + "\n"
    return files


def main():
    tables = shared("data/kernels")
    if not tables:
        print("skipped: no shared tables: set SEXTANT_SHARED_DIR")
        return SKIPPED
    report = report_of(tables)
    stale = []
    for name, text in files_of(report).items():
        path = os.path.join(ROOT, "docs", name)
        if "--write" in sys.argv:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        written = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                written = file.read()
        if written != text:
            old = set(written.splitlines())
            stale += [f"{name}: {line}" for line in text.splitlines() if line not in old][:5]
    if stale:
        print("docs/ is out of date: run this with --write. E.g.", *stale[:10], sep="\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
