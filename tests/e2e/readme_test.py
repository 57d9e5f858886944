#!/usr/bin/python3
"""README.md shows what its own commands print, to the letter. With --write, makes it so."""

import os
import re
import shlex
import subprocess
import sys

from sextantd import BIN, ROOT, Server

README = os.path.join(ROOT, "README.md")
# The last command of a block of them, and the block of what it prints.
SHOWN = re.compile(
    r"(?P<before>^build/release/bin/(?P<command>sextant [^\n]*)\n```\n\n```text\n).*?(?=```)",
    re.MULTILINE | re.DOTALL)


def printed_by(command, server):
    program, *arguments = shlex.split(command)
    return subprocess.run([os.path.join(BIN, program), *arguments],
                          env=dict(os.environ, SEXTANT_ADDRESS=server.address),
                          capture_output=True, text=True, check=True, timeout=60).stdout


def main():
    with open(README, encoding="utf-8") as file:
        text = file.read()
    with Server("--log_calls=none") as server:
        renewed = SHOWN.sub(
            lambda block: block["before"] + printed_by(block["command"], server), text)
    if "--write" in sys.argv:
        with open(README, "w", encoding="utf-8") as file:
            file.write(renewed)
        return 0
    assert len(SHOWN.findall(text)) == 3, "README.md shows a plan, its memory and a count"
    if renewed != text:
        print("README.md is out of date: run tests/e2e/readme_test.py --write")
        return 1
    print("README.md shows what its commands print")
    return 0


if __name__ == "__main__":
    sys.exit(main())
