#!/usr/bin/python3
"""Tests write below $TMPDIR, into folders that go when they end: C++ by
tests/support/temporary_folder.h, Python by tempfile.TemporaryDirectory, shell by mktemp and a trap.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURE = "tests/support/temporary_folder.cc"
# They name the folder of the probe's locks and of CUDA's daemon.
NAMES_TMP = ("tests/gpu_probe/device_lock_test.cc", "tests/gpu_probe/cuda/cuda_system_test.cc")
MAKES = re.compile(r"\b(TempDir|mkdtemp|mkstemp|mktemp|tmpnam|tempnam|tmpfile|gettempdir)\(|"
                   r"delete=False")
TMP = re.compile(r"""["']/tmp\b""")


def problems_of(path, text):
    if path == FIXTURE:
        return []
    if path.endswith(".sh"):
        makes = re.search(r"\bmktemp\b", text) and not re.search(r"\btrap .* EXIT\b", text)
        return [f"{path}: mktemp without a trap on EXIT that removes it"] if makes else []
    found = [f"{path}: {m.group()}: use {FIXTURE[:-2]}h or tempfile.TemporaryDirectory"
             for m in MAKES.finditer(text)]
    if path not in NAMES_TMP:
        found += [f"{path}: {m.group()}: $TMPDIR may be elsewhere" for m in TMP.finditer(text)]
    return found


def main():
    for path, text in (("a.cc", "testing::TempDir()"), ("a.cc", 'file = "/tmp/x"'),
                       ("a.py", "tempfile.mkdtemp()"), ("a.sh", "x=$(mktemp -d)\n")):
        assert problems_of(path, text), f"{text} is not noticed"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "tests"], cwd=ROOT,
                            capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        print("skipped: no git, which lists the tests")
        return 77
    problems = []
    for path in listed:
        if path.endswith((".cc", ".h", ".py", ".sh")) and path != os.path.relpath(__file__, ROOT) \
                and os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                problems += problems_of(path, file.read())
    print("\n".join(problems) or "tests leave nothing in /tmp")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
