#!/usr/bin/env python3
"""Counts words and openings that CONTRIBUTING's page of style gives up, by folder.

  tests/lint/plain_words.py [--list] [FOLDER...]

Reads comments of C++ and proto files, and whole documents.
"""

import argparse
import collections
import re
import subprocess

PATTERNS = {
    "behind": r"\bbehind\b",
    "beside": r"\bbeside\b",
    "mend": r"\bmend(s|ed|ing)?\b",
    "at fault": r"\bat fault\b",
    "told / tells of": r"\b(told|tells? of)\b",
    "so many": r"\bso many\b",
    "let go": r"\blets? go\b",
    "worked out": r"\b(works?|worked|working) (it |them )?out\b",
    "foretell": r"\bforet(ell|old)\w*",
    "made GPU": r"\bmade (GPU|device|host)s?\b",
    "opens with Of": r"^Of\b",
    "opens with What": r"^What\b",
    "opens with Whether": r"^Whether\b",
}
CODE = re.compile(r"\.(h|cc|cu|cuh|proto)$")
COMMENT = re.compile(r"(?:^|\s)//+ ?(.*)$")


def tracked(folders):
    names = subprocess.run(["git", "ls-files", "-z", "--"] + folders, check=True, text=True,
                           capture_output=True).stdout.split("\0")
    return [name for name in names if CODE.search(name) or name.endswith(".md")]


def comments(lines):
    """(line number, text, whether it is the first line of its comment)"""
    before = False
    for number, line in enumerate(lines, 1):
        found = COMMENT.search(line)
        alone = line.lstrip().startswith("//")
        if found:
            yield number, found.group(1), not (before and alone)
        before = bool(found) and alone


def prose(lines):
    shown = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            shown = not shown
        elif not shown:
            yield number, line.strip(), True


def hits(name):
    with open(name, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, text, first in (comments if CODE.search(name) else prose)(lines):
        for pattern, expression in PATTERNS.items():
            if expression.startswith("^") and (not first or name.endswith(".md")):
                continue
            for _ in re.finditer(expression, text):
                yield pattern, number, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="name every place")
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    counts = collections.Counter()
    for name in tracked(arguments.folders):
        for pattern, number, text in hits(name):
            counts[pattern] += 1
            counts["in " + (name.split("/")[0] if "/" in name else "top")] += 1
            if arguments.list:
                print(f"{name}:{number}: {pattern}: {text}")
    for pattern, count in sorted(counts.items()):
        print(f"{count:6} {pattern}")


if __name__ == "__main__":
    main()
