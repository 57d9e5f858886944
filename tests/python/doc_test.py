#!/usr/bin/python3
"""Runs each Python example of docs/python.md in a process of its own, and checks what it says."""

import os
import re
import subprocess
import sys

import client
from client import PACKAGE, ROOT, Server

# What each prints, in the document's order.
SAYS = (r"<Plan FITS: llama-3\.1-8b, 16 x h100-sxm; .*\n[\d.]+ [\d.]+ [\d.]+ \{'tensor",
        r"(<Plan .*\n){4}\{'parallel'",
        r"(progress\n)*answer\n(<Plan .*\n){3}",
        r"training\.token_count is required",
        r"989400000000000\.0 .*\n.*h100-sxm",
        r"not started: DOES NOT FIT.*--zero=optimizer")


def main():
    client.skip_without()
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        examples = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
    assert len(examples) == len(SAYS), len(examples)
    with Server("--log_calls=none") as server:
        for text, says in zip(examples, SAYS):
            run = subprocess.run(
                ["/usr/bin/python3", "-c", text], capture_output=True, text=True, timeout=120,
                check=False, env={**os.environ, "PYTHONPATH": PACKAGE,
                                  "SEXTANT_HTTP_ADDRESS": server.http})
            assert run.returncode == 0 and re.match(says, run.stdout), (text, says, run)
    print(f"{len(SAYS)} examples say what they should")
    return 0


if __name__ == "__main__":
    sys.exit(main())
