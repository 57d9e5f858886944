#!/usr/bin/python3
"""The answers to the golden requests are those that were kept (golden_requests.py says how).

    tests/golden/requests_test.py            compare
    tests/golden/requests_test.py --write    keep today's answers; review the difference

And no figure of an answer is impossible (tests/support/possible_figures.h says which are).

Where answers are meant to change, tests/golden/compare_answers.py says by how much.
"""

import collections
import json
import os
import platform
import subprocess
import sys

import golden_requests as golden
from golden_requests import api

SHOWN = 20


def name_of(line):
    """A line of a file in a few words."""
    if "base" in line:
        return line["base"]
    return f"{line['of']} with {json.dumps(line['set'])[:200]}"


def impossible_figures(named):
    """A line for each impossible figure of the (name, answer) given."""
    answers = b"".join(
        f"{answer.DESCRIPTOR.full_name} {answer.ByteSize()}\n".encode() + answer.SerializeToString()
        for _, answer in named
    )
    tool = os.path.join(api.BIN, "impossible_figures")
    found = subprocess.run([tool], input=answers, stdout=subprocess.PIPE, check=True).stdout
    for line in found.decode().splitlines():
        number, _, what = line.partition(" ")
        yield f"{named[int(number)][0]}: {what}"


def main():
    if platform.machine() != "x86_64":
        print("skipped: the answers kept are of x86-64, whose arithmetic rounds in its own way")
        return api.SKIPPED
    write = sys.argv[1:] == ["--write"]
    changed = collections.Counter()
    count = 0
    named = []
    with golden.server() as server, api.Client(server.address) as client:
        for file in golden.files():
            lines = golden.load(file)
            answers = client.answers(golden.requests_of(lines))
            named += [
                (f"{file}: {name_of(line)}", answer)
                for line, answer in zip(lines, answers)
                if not isinstance(answer, golden.grpc.RpcError)
            ]
            answered = list(golden.kept(lines, answers))
            count += len(lines)
            for old, new in zip(lines, answered):
                before, after = old.get("answer", {}), new["answer"]
                names = [key for key in before | after if before.get(key, "") != after.get(key, "")]
                if names and changed.total() < SHOWN and not write:
                    print(f"{file}: {name_of(old)}")
                    for key in names[:5]:
                        print(f"    {key}: {before.get(key, '-')} -> {after.get(key, '-')}")
                changed.update(names)
            if write:
                golden.save(file, answered)
    print(f"{count} requests, {changed.total()} parts of their answers changed")
    for name, times in changed.most_common(SHOWN):
        print(f"    {times:5} {name}")
    impossible = list(impossible_figures(named))
    print(f"{len(named)} answers, {len(impossible)} impossible figures")
    print(*impossible[:SHOWN], sep="\n")
    return 1 if impossible or (changed and not write) else 0


if __name__ == "__main__":
    sys.exit(main())
