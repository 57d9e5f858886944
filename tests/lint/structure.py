#!/usr/bin/python3
"""Prints how the code is cut into files: a table, and on request what stands behind its figures.

  tests/lint/structure.py                 the table
  tests/lint/structure.py --commit REF    the table of another commit
  tests/lint/structure.py --single        units with one user, in their own folder
  tests/lint/structure.py --long          functions of more than 40 lines
  tests/lint/structure.py --walks         the units of each walk

A unit is a header with the source of the same name. Data tables are not units to merge. A walk is
the units that a reader opens to follow one number; walks.txt lists them with a name that each has
to contain, so that a walk through code that moved is noticed.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOUSES = ("engine/", "proto/", "gpu_probe/", "server/", "client/")
CODE = (".h", ".cc", ".cu", ".cuh")
TABLE = re.compile(r"/(catalogue_|families_|presets_)\w+\.cc$"
                   r"|/reference/\w+_(collectives|matmuls)\.cc$"
                   r"|/reference/(attention|grouped_matmul)_[abh]\d+\.cc$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
MAX_FUNCTION = 40
MAX_FILE = 400
MAX_FOLDER = 60


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout


def texts_of(commit):
    """The code of a commit, or of the working tree where `commit` is empty, by path."""
    if not commit:
        paths = git("ls-files", "-co", "--exclude-standard").splitlines()
        paths = [p for p in paths if p.startswith(HOUSES) and p.endswith(CODE)]
        texts = {}
        for path in paths:
            if os.path.exists(os.path.join(ROOT, path)):
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    texts[path] = file.read()
        return texts
    paths = git("ls-tree", "-r", "--name-only", commit).splitlines()
    paths = [p for p in paths if p.startswith(HOUSES) and p.endswith(CODE)]
    return {path: git("show", f"{commit}:{path}") for path in paths}


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
    """Functions of more than MAX_FUNCTION lines, signature and braces counted: a line that starts
    a body at the left edge or in a class, up to the brace at the same depth."""
    found = []
    for path, text in texts.items():
        lines = text.split("\n")
        start = None
        for number, line in enumerate(lines):
            if re.match(r"(  )?\}[;,)]*$", line) and start is not None:
                indent = len(line) - len(line.lstrip())
                if indent == start[1]:
                    if number - start[0] + 1 > MAX_FUNCTION:
                        found.append((path, start[0] + 1, number - start[0] + 1))
                    start = None
            elif start is None and re.match(r"(  )?[\w~].*[\w>)&*\]] ?\{$", line) and \
                    re.search(r"\)[^()]*\{$|\) *:.*\{$", line) and \
                    not re.match(r"\s*(if|for|while|switch|else|namespace|struct|class|enum)\b",
                                 line):
                indent = len(line) - len(line.lstrip())
                start = (first_line(lines, number, indent), indent)
    return found


def first_line(lines, number, indent):
    """The line on which the signature begins whose body begins on line `number`."""
    while number > 0:
        above = lines[number - 1]
        if not above.strip() or above.rstrip().endswith((";", "}", ":", "{")) or \
                above.lstrip().startswith(("//", "#")) or \
                len(above) - len(above.lstrip()) < indent:
            return number
        number -= 1
    return number


def walks_of(texts):
    """The walks of walks.txt: name -> units. Fails where a unit lacks the name it is listed for."""
    walks, problems = collections.OrderedDict(), []
    with open(os.path.join(ROOT, "tests/lint/walks.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.split("#")[0].rstrip()
            if not line:
                continue
            if not line.startswith(" "):
                name = line
                walks[name] = []
                continue
            unit, word = line.split()
            text = "".join(t for p, t in texts.items() if unit_of(p) == unit)
            if not re.search(rf"\b{re.escape(word)}\b", text):
                problems.append(f"walks.txt: {unit} does not contain {word}")
            walks[name].append(unit)
    return walks, problems


def figures(texts):
    """The table: (name, figure, aim)."""
    headers = [lines_of(t) for p, t in texts.items() if p.endswith(".h")]
    sources = [lines_of(t) for p, t in texts.items() if p.endswith(".cc") and not TABLE.search(p)]
    folders = collections.defaultdict(set)
    for path in texts:
        folders[os.path.dirname(path)].add(unit_of(path))
    units = {unit_of(p) for p in texts}
    largest = max(folders.items(), key=lambda item: len(item[1]))
    return [
        ("files of code", len(texts), "at most 1,050"),
        ("units", len(units), ""),
        ("lines", sum(map(lines_of, texts.values())), ""),
        ("units with one user, in their folder", len(single_users(texts)), "under 60"),
        ("median lines of a header", round(statistics.median(headers)), "at least 55"),
        ("median lines of a source", round(statistics.median(sources)), ""),
        ("longest file", max(map(lines_of, texts.values())), f"at most {MAX_FILE}"),
        (f"functions over {MAX_FUNCTION} lines", len(long_functions(texts)), "0"),
        (f"units of the largest folder ({largest[0]})", len(largest[1]), f"at most {MAX_FOLDER}"),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", default="")
    for flag in ("single", "long", "walks"):
        parser.add_argument(f"--{flag}", action="store_true")
    asked = parser.parse_args()
    texts = texts_of(asked.commit)
    if asked.single:
        for unit, user in sorted(single_users(texts).items()):
            print(f"{unit} <- {user}")
        return 0
    if asked.long:
        for path, line, length in sorted(long_functions(texts)):
            print(f"{path}:{line}: {length} lines")
        return 0
    problems = []
    for name, figure, aim in figures(texts):
        print(f"{name:48} {figure:>8,}  {aim}")
    if not asked.commit and os.path.exists(os.path.join(ROOT, "tests/lint/walks.txt")):
        walks, problems = walks_of(texts)
        for name, units in walks.items():
            print(f"{'units of the walk: ' + name:48} {len(set(units)):>8}")
            for unit in units if asked.walks else ():
                print(f"    {unit}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
