#!/usr/bin/python3
"""Prints how the code is cut into files: a table, and on request what its figures are made of.

  tests/lint/structure.py                 the table
  tests/lint/structure.py --commit REF    the table of another commit
  tests/lint/structure.py --single        units with one user, in their own folder
  tests/lint/structure.py --long          functions of more than 40 lines

A unit is a header with the source of the same name. Data tables are not units to merge.
ceilings.csv has the most that each folder may have; ceilings_test.py compares.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cpp_scan import scan  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOUSES = ("engine/", "proto/", "gpu_probe/", "server/", "client/")
CODE = (".h", ".cc", ".cu", ".cuh")
TABLE = re.compile(r"/(catalogue_|families_|presets_)\w+\.cc$"
                   r"|/reference/\w+_(collectives|matmuls|fits)\.cc$"
                   r"|/reference/(attention|grouped_matmul)_[abh]\d+\.cc$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
MAX_FUNCTION = 40


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout


def tracked():
    """The paths of the working tree that git knows."""
    paths = git("ls-files").splitlines()
    return [path for path in paths if os.path.exists(os.path.join(ROOT, path))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def texts_of(commit):
    """The code of a commit, or of the working tree where `commit` is empty, by path."""
    paths = git("ls-tree", "-r", "--name-only", commit).splitlines() if commit else tracked()
    paths = [p for p in paths if p.startswith(HOUSES) and p.endswith(CODE)]
    return {path: git("show", f"{commit}:{path}") if commit else read(path) for path in paths}


def unit_of(path):
    return path.rsplit(".", 1)[0]


def lines_of(text):
    return text.count("\n")


def users_of(texts):
    """For each unit that has a header, the units that include it."""
    users = {unit_of(p): set() for p in texts if p.endswith(".h")}
    for path, text in texts.items():
        for target in INCLUDE.findall(text):
            unit = unit_of(target)
            if unit in users and unit != unit_of(path):
                users[unit].add(unit_of(path))
    return users


def single_users(texts):
    """Units with exactly one user, which is in their own folder, with that user."""
    return {unit: next(iter(users)) for unit, users in users_of(texts).items()
            if len(users) == 1 and os.path.dirname(next(iter(users))) == os.path.dirname(unit)}


def long_functions(texts):
    """(path, first line, lines) of functions of more than MAX_FUNCTION lines, methods that are
    defined in their class among them."""
    found = []
    for path, text in texts.items():
        for first, last in scan(text).functions:
            if last - first + 1 > MAX_FUNCTION:
                found.append((path, first, last - first + 1))
    return found


def figures(texts):
    """The table: (name, figure)."""
    headers = [lines_of(t) for p, t in texts.items() if p.endswith(".h")]
    sources = [lines_of(t) for p, t in texts.items() if p.endswith(".cc") and not TABLE.search(p)]
    folders = collections.defaultdict(set)
    for path in texts:
        folders[os.path.dirname(path)].add(unit_of(path))
    largest = max(folders.items(), key=lambda item: len(item[1]))
    return [
        ("files of code", len(texts)),
        ("units", len({unit_of(p) for p in texts})),
        ("lines", sum(map(lines_of, texts.values()))),
        ("units with one user, in their folder", len(single_users(texts))),
        ("median lines of a header", round(statistics.median(headers))),
        ("median lines of a source", round(statistics.median(sources))),
        ("longest file", max(map(lines_of, texts.values()))),
        (f"functions over {MAX_FUNCTION} lines", len(long_functions(texts))),
        (f"units of the largest folder ({largest[0]})", len(largest[1])),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", default="")
    for flag in ("single", "long"):
        parser.add_argument(f"--{flag}", action="store_true")
    asked = parser.parse_args()
    texts = texts_of(asked.commit)
    if asked.single:
        for unit, user in sorted(single_users(texts).items()):
            print(f"{unit} <- {user}")
    elif asked.long:
        for path, line, length in sorted(long_functions(texts)):
            print(f"{path}:{line}: {length} lines")
    else:
        for name, figure in figures(texts):
            print(f"{name:48} {figure:>8,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
