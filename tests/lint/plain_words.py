#!/usr/bin/env python3
"""Counts words, openings and names that CONTRIBUTING's page of style gives up, by folder.

  tests/lint/plain_words.py [--list] [FOLDER...]

Reads comments, texts and names of C++, comments of proto files, and whole documents. ceilings.csv
has the most that each folder may have.
"""

import argparse
import collections
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = {
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
    # An optimizer's moments are a term of the field.
    "moment": r"(?<!irst )(?<!econd )\bmoment\b",
    "is no ...": r"(?<!here )\b(is|are|was|were) no "
                 r"(?!longer\b|more\b|less\b|other\b|larger\b|smaller\b|faster\b|slower\b)[a-z]",
}
OPENINGS = {
    "opens with Of": r"^Of\b",
    "opens with What": r"^What\b",
    "opens with Whether": r"^Whether\b",
}
NAMES = {
    "kMost, kLeast, ...": r"\bk(Most|Least|Fewest|Maximum)([A-Z]\w*)?\b",
}
CODE = re.compile(r"\.(h|cc|cu|cuh|proto)$")
COMMENT = re.compile(r"(?:^|\s)//+ ?(.*)$")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def tracked(folders):
    names = subprocess.run(["git", "ls-files", "-z", "--"] + folders, check=True, text=True,
                           cwd=ROOT, capture_output=True).stdout.split("\0")
    return [name for name in names if (CODE.search(name) or name.endswith(".md")) and
            os.path.exists(os.path.join(ROOT, name))]


def code_hits(lines):
    """(pattern, line number, text) of a source."""
    before = False
    for number, line in enumerate(lines, 1):
        comment = COMMENT.search(line)
        alone = line.lstrip().startswith("//")
        code = line[:comment.start()] if comment else line
        texts = [comment.group(1)] if comment else []
        for text in texts + TEXT.findall(code):
            for pattern, expression in WORDS.items():
                yield from ((pattern, number, text) for _ in re.finditer(expression, text))
        if comment and not (before and alone):
            yield from ((pattern, number, comment.group(1))
                        for pattern, expression in OPENINGS.items()
                        if re.match(expression, comment.group(1)))
        for pattern, expression in NAMES.items():
            yield from ((pattern, number, code.strip())
                        for _ in re.finditer(expression, TEXT.sub('""', code)))
        before = bool(comment) and alone


def prose_hits(lines):
    """(pattern, line number, text) of a document, examples left out."""
    shown = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            shown = not shown
        elif not shown:
            for pattern, expression in WORDS.items():
                yield from ((pattern, number, line.strip()) for _ in re.finditer(expression, line))


def hits(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        lines = file.read().split("\n")
    yield from (code_hits if CODE.search(name) else prose_hits)(lines)


def check_itself():
    found = [pattern for pattern, _, _ in code_hits(
        ["// What it takes,", "// which others were told.", 'Fail("it is no number");  // so many',
         "constexpr int kMostBytes = 2;", "// There is no such field."])]
    assert sorted(found) == sorted(["opens with What", "told / tells of", "is no ...", "so many",
                                    "kMost, kLeast, ..."]), found


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
