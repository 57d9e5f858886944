#!/usr/bin/python3
"""Compares this tree's answers to the golden requests with those of another commit.

    tests/golden/compare_answers.py COMMIT [--bin=FOLDER]

Builds COMMIT's sextantd in build/compare (or takes the one in FOLDER), asks both servers all
golden requests, and prints each field that differs: in how many answers, and by how much at most.
Exits with 1 where any does: a rearrangement changes nothing.
"""

import argparse
import collections
import os
import re
import subprocess
import sys

import golden_requests as golden
import sextantd
from golden_requests import ROOT, api, grpc


INDEX = re.compile(r"\[[0-9]+\]")


def built(commit):
    """The folder with the programs of `commit`, built there if need be."""
    name = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", commit], check=True,
                          capture_output=True, text=True).stdout.strip()  # fmt: skip
    tree = os.path.join(ROOT, "build", "compare", name)
    if not os.path.isdir(tree):
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", tree, name], check=True)
    configure = ["cmake", "--preset", "release", "-DSEXTANT_BUILD_TESTS=OFF", "-DSEXTANT_LTO=OFF"]
    subprocess.run(configure, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "sextantd"], cwd=tree,
                   check=True)  # fmt: skip
    return os.path.join(tree, "build", "release", "bin")


def responses(folder, calls):
    """The answers of the sextantd in `folder`."""
    sextantd.BIN = folder
    with golden.server() as server, api.Client(server.address) as client:
        return client.answers(calls)


def leaves(message, path=""):
    """(path, value) of everything set in a message."""
    for field, value in message.ListFields():
        here = f"{path}.{field.name}" if path else field.name
        several = field.label == field.LABEL_REPEATED
        for index, entry in enumerate(value if several else [value]):
            place = f"{here}[{index}]" if several else here
            if field.type == field.TYPE_MESSAGE:
                yield from leaves(entry, place)
            else:
                yield place, entry


def as_leaves(response):
    """The same of an answer or a refusal."""
    if isinstance(response, grpc.RpcError):
        return golden.refusal(response)
    return dict(leaves(response))


def change_of(before, after):
    """How much larger or smaller a number is, over the larger; 1 for all else."""
    both = (before, after)
    if any(isinstance(value, (str, bytes, bool, type(None))) for value in both):
        return 1.0
    return abs(after - before) / max(abs(before), abs(after))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--bin")
    arguments = parser.parse_args()
    other = arguments.bin or built(arguments.commit)
    largest = collections.defaultdict(float)
    answers = collections.defaultdict(set)
    calls = [call for file in golden.files() for call in golden.requests_of(golden.load(file))]
    ours = sextantd.BIN
    pairs = zip(calls, responses(other, calls), responses(ours, calls))
    for index, ((call, _), before, after) in enumerate(pairs):
        old, new = as_leaves(before), as_leaves(after)
        for path in old.keys() | new.keys():
            if repr(old.get(path)) != repr(new.get(path)):  # a NaN is like another
                field = f"{call} {re.sub(INDEX, '[]', path)}"
                answers[field].add(index)
                change = change_of(old.get(path), new.get(path))
                largest[field] = max(largest[field], change)
    differ = len(set().union(*answers.values()))
    print(f"{len(calls)} answers, {differ} differ")
    for field in sorted(answers, key=lambda name: -len(answers[name])):
        print(f"  {len(answers[field]):5} answers, at most {largest[field]:8.2e}  {field}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
