#!/usr/bin/python3
"""Faults that the tests have to notice: which of the mutants in mutants.json does each folder's
GoogleTest kill, and does each of those in numbers.json, which change a figure that a user sees,
fail the test that owns it?

A copy of a commit gets all mutants at once, each behind a switch that $SEXTANT_MUTANT selects, and
is built once. Then each mutant's folder of tests runs, program by program, until one fails, crashes
or takes too long. The table says which test failed first.

  tests/mutants/run.py --scratch=DIR [--list=numbers] [--commit=REV] [--out=FILE.csv] [--jobs=N]
                       [ID...]

A mutant is {"id", "file", "in", "old", "new", "tests"}: in `file` (found by its name where it has
moved), within the text `in`, which occurs once (default: `old`), the expression `old` becomes
`new`. A statement, which ends with a semicolon, is skipped where `new` is empty.

With an "owner", "PROGRAM: SUITE.TEST" of that folder, that test alone has to fail. A test that
compares with a generated page owns no figure: whoever changes one renews the page with --write.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What reads pages that a script's --write renews.
GENERATED = ("tests/golden/", "sample_launch.h")
SWITCH = """// Written by tests/mutants/run.py.
#pragma once
#include <cstdlib>
inline bool SextantMutant(int id) {
  static const char* const text = std::getenv("SEXTANT_MUTANT");
  static const int chosen = text == nullptr ? 0 : std::atoi(text);
  return chosen == id;
}
"""


def make_copy(scratch, commit):
    """A worktree of `commit`; one that is there keeps its build."""
    commit = subprocess.run(["git", "rev-parse", commit], cwd=ROOT, check=True, text=True,
                            capture_output=True).stdout.strip()
    if not os.path.exists(os.path.join(scratch, ".git")):
        subprocess.run(["git", "worktree", "add", "--detach", scratch, commit], cwd=ROOT,
                       check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=scratch,
                   check=True)


def find_file(tree, path):
    """`path`, or the one tracked file of its name in the same program's folder."""
    if os.path.exists(os.path.join(tree, path)):
        return path
    pattern = f"{path.split('/')[0]}/**/{os.path.basename(path)}"
    found = subprocess.run(["git", "ls-files", f":(glob){pattern}"], cwd=tree, check=True,
                           text=True, capture_output=True).stdout.split()
    if len(found) != 1:
        raise LookupError(f"{path}: {len(found)} files of that name")
    return found[0]


def mutated(text, mutant):
    """`text` with the mutant behind its switch."""
    old, new = mutant["old"], mutant["new"]
    place = mutant.get("in", old)
    if text.count(place) != 1 or place.count(old) != 1:
        raise LookupError(f"mutant {mutant['id']}: {text.count(place)} places read {place!r}")
    switch = f"SextantMutant({mutant['id']})"
    if old.endswith(";"):
        switched = f"if ({switch}) {{ {new} }} else {{ {old} }}"
    else:
        switched = f"({switch} ? ({new}) : ({old}))"
    return text.replace(place, place.replace(old, switched))


def apply_mutants(tree, mutants):
    """Returns the mutants that found their place."""
    with open(os.path.join(tree, "sextant_mutant.h"), "w", encoding="utf-8") as file:
        file.write(SWITCH)
    applied = []
    for mutant in mutants:
        try:
            path = os.path.join(tree, find_file(tree, mutant["file"]))
            with open(path, encoding="utf-8") as file:
                text = mutated(file.read(), mutant)
        except LookupError as fault:
            print(fault)
            continue
        if "sextant_mutant.h" not in text:
            text = '#include "sextant_mutant.h"\n' + text
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        applied.append(mutant)
    return applied


def programs_of(tree, folder):
    """The GoogleTest programs of tests/`folder` and the folders below it, except those that count
    allocations."""
    out = []
    for place, _, files in sorted(os.walk(os.path.join(tree, "tests", folder))):
        if "CMakeLists.txt" in files:
            with open(os.path.join(place, "CMakeLists.txt"), encoding="utf-8") as file:
                out += re.findall(r"^sextant_(?:kernel_)?test\((\w+)", file.read(), re.MULTILINE)
    return [name for name in out if not name.endswith("allocation_test")]


def owner_of(mutant):
    """The mutant's program and test; None where any test of its folder may notice it."""
    return tuple(mutant["owner"].split(": ")) if "owner" in mutant else None


def check_owner(tree, mutant, programs):
    """Fails where the owner is no test of its folder, or compares with a generated page."""
    program, test = owner_of(mutant)
    suite, name = test.split(".")
    test = re.compile(rf"^TEST(_[FP])?\({suite}, {name}\)", re.MULTILINE)
    files = subprocess.run(["git", "ls-files", f":(glob)tests/{mutant['tests']}/**/*_test.cc"],
                           cwd=tree, check=True, text=True, capture_output=True).stdout.split()
    texts = {}
    for path in files:
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            texts[path] = file.read()
    found = [path for path, text in texts.items() if test.search(text)]
    if program not in programs or len(found) != 1:
        raise LookupError(f"mutant {mutant['id']}: no test {mutant['owner']}")
    if any(word in texts[found[0]] for word in GENERATED):
        raise LookupError(f"mutant {mutant['id']}: {found[0]} reads a generated page")


def build(tree, programs, jobs):
    # Without nvcc: no GoogleTest needs the kernels, which take minutes.
    subprocess.run(["cmake", "--preset", "release", "-DSEXTANT_BUILD_TESTS=ON", "-DSEXTANT_LTO=OFF",
                    "-DSEXTANT_NVCC=", "--log-level=NOTICE"], cwd=tree, check=True)
    subprocess.run(["cmake", "--build", "build/release", f"-j{jobs}", "--target", *programs,
                    "--", "-k0"], cwd=tree, check=True)


def verdict(tree, program, mutant_id, timeout, test="*"):
    """Why `program` noticed the mutant, or None."""
    command = [os.path.join(tree, "build/release/bin", program), "--gtest_fail_fast",
               "--gtest_brief=1", f"--gtest_filter={test}"]
    try:
        ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False,
                             errors="replace", timeout=timeout,
                             env={**os.environ, "SEXTANT_MUTANT": str(mutant_id)})
    except subprocess.TimeoutExpired:
        return f"{program}: over {timeout} s"
    if ran.returncode == 0:
        return None
    failed = re.search(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", ran.stdout, re.MULTILINE)
    return f"{program}: {failed.group(1) if failed else f'exit {ran.returncode}'}"


def killer_of(tree, programs, mutant_id, timeout):
    found = (verdict(tree, program, mutant_id, timeout) for program in programs)
    return next((why for why in found if why), None)


def seconds_without_mutants(tree, programs, timeout):
    """By program that passes; the others notice everything, and are left out."""
    out = {}
    for program in programs:
        start = time.monotonic()
        failed = verdict(tree, program, 0, timeout)
        if failed:
            print(f"left out, since it fails without a mutant: {failed}")
        else:
            out[program] = time.monotonic() - start
    return out


def killer_among_owners(tree, mutant, timeout):
    """The owner, if it passes without the mutant and fails with it."""
    program, test = owner_of(mutant)
    failed = verdict(tree, program, 0, timeout, test)
    if failed:
        print(f"fails without a mutant: {failed}")
        return None
    return verdict(tree, program, mutant["id"], timeout, test)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--scratch", required=True, help="a folder for the copy and its build")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--list", default="mutants", choices=["mutants", "numbers"])
    parser.add_argument("--out", default="mutants.csv")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=120, help="seconds of a program")
    parser.add_argument("ids", nargs="*", type=int)
    return parser.parse_args()


def main():
    args = parse()
    scratch = os.path.abspath(args.scratch)
    with open(os.path.join(HERE, args.list + ".json"), encoding="utf-8") as file:
        mutants = json.load(file)
    mutants = [m for m in mutants if not args.ids or m["id"] in args.ids]
    make_copy(scratch, args.commit)
    programs = {folder: programs_of(scratch, folder) for folder in {m["tests"] for m in mutants}}
    owned = [m for m in mutants if owner_of(m)]
    for mutant in owned:
        check_owner(scratch, mutant, programs[mutant["tests"]])
    applied = apply_mutants(scratch, mutants)
    whole = {m["tests"] for m in mutants if not owner_of(m)}
    every = sorted(set(sum((programs[folder] for folder in whole), [])))
    build(scratch, sorted({*every, *(owner_of(m)[0] for m in owned)}), args.jobs)
    seconds = seconds_without_mutants(scratch, every, args.timeout)
    programs = {folder: sorted(set(of_folder) & seconds.keys(), key=seconds.get)
                for folder, of_folder in programs.items()}  # the shortest first
    counts = {"killed": 0, "survived": 0, "no place": 0}
    with open(args.out, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "file", "tests", "verdict", "killed_by", "seconds"])
        for mutant in mutants:
            start = time.monotonic()
            killer = None
            state = "no place"
            if mutant in applied:
                killer = (killer_among_owners(scratch, mutant, args.timeout) if owner_of(mutant)
                          else killer_of(scratch, programs[mutant["tests"]], mutant["id"],
                                         args.timeout))
                state = "killed" if killer else "survived"
            counts[state] += 1
            table.writerow([mutant["id"], mutant["file"], mutant["tests"], state, killer or "",
                            round(time.monotonic() - start)])
            file.flush()
    print(f"{len(mutants)} mutants: {counts['killed']} killed, {counts['survived']} survived, "
          f"{counts['no place']} have no place")
    return 1 if owned and counts["killed"] < len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())
