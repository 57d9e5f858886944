#!/usr/bin/python3
"""The page's size by part, its requests, and its first plan beside a line of text: in Markdown.

    SEXTANT_BIN=FOLDER tests/benchmarks/page.py [LOADS]

A view's size is by how much the script is smaller without it. Loads are in a browser that has
nothing of the page, of the same server, and take turns; "ratio" is of times in one run.
"""

import os
import subprocess
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "page"), os.path.join(TESTS, "e2e")]
# pylint: disable=wrong-import-position
from page_test import TOOLS, missing  # noqa: E402
from sextantd import BIN, SKIPPED  # noqa: E402


def main():
    if why := missing():
        print(f"skipped: {why}")
        return SKIPPED
    loads = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    script = os.path.join(TESTS, "benchmarks", "page.mjs")
    return subprocess.run(
        ["node", script], check=False,
        env={**os.environ, "SEXTANT_BIN": BIN, "PAGE_TOOLS": TOOLS,
             "PAGE_LOADS": str(loads)}).returncode


if __name__ == "__main__":
    sys.exit(main())
