#!/usr/bin/python3
"""Compares figures of the tree with tests/lint/ceilings.csv, which may only go down.

  tests/lint/ceilings_test.py            fails where a figure is above its ceiling, or below
  tests/lint/ceilings_test.py --write    lowers ceilings to the figures; raises none

A row has a folder, a measure and a ceiling; without a row the ceiling is 0. A folder that is
renamed takes its rows along, by hand. Measures:

  files            tracked files
  single user      units with one user, in their own folder: structure.py --single
  long functions   of more than 40 lines: structure.py --long
  dead names       used by nothing, or of programs only by tests: dead_names.py
  plain words      words, openings and names to rewrite: plain_words.py --list
"""

import collections
import csv
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plain_words  # noqa: E402
from dead_names import dead_names, texts_of_tree  # noqa: E402
from structure import HOUSES, ROOT, long_functions, single_users, tracked  # noqa: E402

CEILINGS = os.path.join(ROOT, "tests/lint/ceilings.csv")
HEAD = ["folder", "measure", "ceiling"]


def house_of(path):
    return path.split("/")[0] if "/" in path else "."


def folder_of(path):
    """A house, or a folder of it."""
    return "/".join(path.split("/")[:-1][:2]) or "."


def figures():
    """(folder, measure) -> figure, those of 0 left out."""
    out = collections.Counter(
        (house_of(path), "files") for path in tracked())
    texts = texts_of_tree()
    programs = {path: text for path, text in texts.items() if path.startswith(HOUSES)}
    out.update((folder_of(unit), "single user") for unit in single_users(programs))
    out.update((folder_of(path), "long functions") for path, _, _ in long_functions(programs))
    for names in dead_names(texts):
        out.update((folder_of(path), "dead names") for path, _ in names)
    for path in plain_words.tracked([]):
        out.update((folder_of(path), "plain words") for _ in plain_words.hits(path))
    return dict(out)


def ceilings():
    with open(CEILINGS, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == HEAD, f"the first row of {CEILINGS} is {rows[0]}"
    return {(folder, measure): int(ceiling) for folder, measure, ceiling in rows[1:]}


def problems_of(now, most):
    """What is wrong with the figures `now` under the ceilings `most`."""
    out = []
    for key in sorted(set(now) | set(most)):
        figure, ceiling = now.get(key, 0), most.get(key, 0)
        if figure > ceiling:
            out.append(f"{key[0]}: {key[1]}: {figure}, above the ceiling of {ceiling}")
        elif figure < ceiling:
            out.append(f"{key[0]}: {key[1]}: {figure}, below the ceiling of {ceiling}: lower it "
                       "with tests/lint/ceilings_test.py --write")
    return out


def lowered(now, most):
    """The ceilings lowered to the figures."""
    rows = {key: min(ceiling, now.get(key, 0)) for key, ceiling in most.items()}
    return {key: ceiling for key, ceiling in rows.items() if ceiling > 0}


def write(rows):
    with open(CEILINGS, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows([*key, ceiling] for key, ceiling in sorted(rows.items()))


def check_itself():
    key, other = ("a", "files"), ("b", "files")
    assert problems_of({key: 2}, {key: 1}) and problems_of({key: 1}, {key: 2})
    assert problems_of({key: 1}, {}) and problems_of({}, {key: 1})
    assert not problems_of({key: 1}, {key: 1})
    assert lowered({key: 3, other: 1}, {key: 2, other: 2}) == {key: 2, other: 1}
    plain_words.check_itself()
    method = "class A {\n public:\n  int F() {\n" + "    ++x;\n" * 39 + "  }\n};\n"
    assert long_functions({"engine/a.h": method}) == [("engine/a.h", 3, 41)]
    assert not long_functions({"engine/a.h": method.replace("    ++x;\n", "", 1)})
    scanned = {"engine/a.h": "int Used();\nint Dead();\nint Tested();\n",
               "engine/b.cc": '#include "engine/a.h"\nint B() { return Used() + B(); }\n',
               "tests/c.cc": '#include "engine/a.h"\nTEST(C, D) { Tested(); }\n'}
    assert dead_names(scanned) == ([("engine/a.h", "Dead")], [("engine/a.h", "Tested")])


def main():
    check_itself()
    now = figures()
    if "--write" in sys.argv[1:]:
        write(lowered(now, ceilings()))
    problems = problems_of(now, ceilings())
    print("\n".join(problems) or f"{len(now)} figures are at their ceilings")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
