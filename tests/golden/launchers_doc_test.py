#!/usr/bin/python3
"""The table of files in docs/launchers.md is that of the program. --write writes it."""

import csv
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
PAGE = os.path.join(ROOT, "docs", "launchers.md")
START = "<!-- tests/golden/launchers_doc_test.py --write: the table below -->\n\n"
END = "\n<!-- the end of the table -->"


def count(text):
    return text if int(text) else ""


def table():
    """The kinds that are read, with their counts, and what to do about those that are not."""
    done = subprocess.run([os.path.join(BIN, "launch_formats")], capture_output=True, text=True,
                          check=True)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    out = "| taken for | settings read | known, not modelled | without meaning |\n"
    out += "| --- | ---: | ---: | ---: |\n"
    for row in rows:
        if not row["instead"]:
            numbers = [count(row[name]) for name in ("read", "not_modelled", "without_meaning")]
            out += " | ".join([f"| {row['format']}", *numbers]) + " |\n"
    out += "\n| known, and not read | instead |\n| --- | --- |\n"
    return out + "".join(f"| {row['format']} | {row['instead']} |\n"
                         for row in rows if row["instead"])


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(START)
    after = rest[rest.index(END):]
    wanted = before + START + table() + after
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif page != wanted:
        print("docs/launchers.md is out of date: run tests/golden/launchers_doc_test.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
