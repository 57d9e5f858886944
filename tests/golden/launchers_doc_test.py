#!/usr/bin/python3
"""The table of files in docs/launchers.md and docs/launcher_settings.csv are the program's.

--write writes them."""

import csv
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
PAGE = os.path.join(ROOT, "docs", "launchers.md")
SETTINGS = os.path.join(ROOT, "docs", "launcher_settings.csv")
START = "<!-- tests/golden/launchers_doc_test.py --write: the table below -->\n\n"
END = "\n<!-- the end of the table -->"


def printed(*words):
    return subprocess.run([os.path.join(BIN, "launch_formats"), *words], capture_output=True,
                          text=True, check=True).stdout


def count(text):
    return text if int(text) else ""


def table():
    """The kinds that are read, with their counts, and what to do about those that are not."""
    rows = list(csv.DictReader(printed().splitlines()))
    out = "| taken for | settings read | known, not modelled | without meaning |\n"
    out += "| --- | ---: | ---: | ---: |\n"
    for row in rows:
        if not row["instead"]:
            numbers = [count(row[name]) for name in ("read", "not_modelled", "without_meaning")]
            out += " | ".join([f"| {row['format']}", *numbers]) + " |\n"
    out += "\n| known, and not read | instead |\n| --- | --- |\n"
    return out + "".join(f"| {row['format']} | {row['instead']} |\n"
                         for row in rows if row["instead"])


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    page = read(PAGE)
    before, rest = page.split(START)
    after = rest[rest.index(END):]
    wanted = {PAGE: before + START + table() + after, SETTINGS: printed("settings")}
    unlike = [path for path, text in wanted.items() if read(path) != text]
    if "--write" in sys.argv:
        for path in unlike:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted[path])
    elif unlike:
        print(", ".join(os.path.relpath(path, ROOT) for path in unlike),
              "out of date: run tests/golden/launchers_doc_test.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
