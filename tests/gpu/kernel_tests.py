#!/usr/bin/env python3
"""Runs gpu_tests, each kernel against a float64 reference, and counts what passed. It is a failure
as well where none passed, or fewer than were skipped: then next to nothing was tested.

  kernel_tests.py --tests=PROGRAM --facts=FILE [--seconds=60]
"""

import argparse
import re
import subprocess
import sys
import threading

import libraries
from results import add_fact


def counts_of(output):
    """{"passed", "skipped", "failed"} of GoogleTest's last lines, the failed tests' names, and of
    each skipped one its reason."""
    out = {}
    for word in ("passed", "skipped", "failed"):
        found = re.findall(rf"^\[ +{word.upper()} +\] (\d+) tests?\b", output, re.MULTILINE)
        out[word] = int(found[-1]) if found else 0
    names = re.findall(r"^\[ +FAILED +\] ([\w/]+\.[\w/]+)", output, re.MULTILINE)
    out["failed_tests"] = sorted(set(names))
    # Between a test's first and last line: "FILE:LINE: Skipped", then the reason.
    runs = re.findall(r"^\[ +RUN +\] ([\w/]+\.[\w/]+)\n(.*?)^\[ +SKIPPED +\] \1\b", output,
                      re.MULTILINE | re.DOTALL)
    out["skipped_tests"] = {
        name: re.sub(r"^.*: Skipped\n", "", said, flags=re.MULTILINE).strip()[:300]
        for name, said in runs if "[ RUN" not in said}
    return out


def is_success(code, counts):
    return code == 0 and counts["passed"] > 0 and counts["passed"] >= counts["skipped"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tests", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    process = subprocess.Popen([options.tests], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               universal_newlines=True, env=libraries.environment())
    end = threading.Timer(options.seconds, process.kill)
    end.start()
    output = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        output += line
    code = process.wait()
    end.cancel()
    counts = counts_of(output)
    add_fact(options.facts, "kernel_tests", exit_code=code, **counts)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 0 if is_success(code, counts) else 1


if __name__ == "__main__":
    sys.exit(main())
