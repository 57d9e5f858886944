#!/usr/bin/python3
"""Rules of the tree: file lengths, line lengths, blanks, header guards, and types of one namespace
that share a name."""

import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = (".h", ".cc", ".cu", ".cuh", ".proto", ".py", ".sh")
MAX_LINES = 400
MAX_COLUMNS = 100
NAMESPACES = ("engine/", "gpu_probe/", "server/", "client/")


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return listed.stdout.splitlines()
    return [os.path.relpath(os.path.join(folder, f), ROOT)
            for folder, _, files in os.walk(ROOT) for f in files
            if not re.search(r"/(build|\.git|node_modules)(/|$)", folder)]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def guard_of(path):
    return "SEXTANT_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"


def problems_of(path, text):
    lines = text.split("\n")
    found = []
    if len(lines) - 1 > MAX_LINES:
        found.append(f"{path}: {len(lines) - 1} lines, more than {MAX_LINES}: split it by job")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and "http" not in line:
            found.append(f"{path}:{number}: {len(line)} columns")
        if line.rstrip() != line:
            found.append(f"{path}:{number}: blanks at the end of the line")
    if path.endswith(".h") and f"#ifndef {guard_of(path)}\n#define {guard_of(path)}" not in text:
        found.append(f"{path}: the header guard is not {guard_of(path)}")
    if not text.endswith("\n"):
        found.append(f"{path}: no line end at the end")
    return found


def types_of(text):
    """Names of the types that a header defines in our namespace itself, not inside another."""
    return re.findall(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", text,
                      re.MULTILINE)


def twins(headers):
    """Types that two headers of one namespace define by one name: C++ would mix them up without a
    word."""
    found = []
    for folder in NAMESPACES:
        homes = {}
        for path, text in headers.items():
            if path.startswith(folder):
                for name in types_of(text):
                    homes.setdefault(name, []).append(path)
        found += [f"{name} is defined in {' and '.join(paths)}"
                  for name, paths in homes.items() if len(paths) > 1]
    return found


def main():
    assert problems_of("a/b.h", "x" * 101 + "\n"), "the rules catch nothing"
    assert twins({"server/a.h": "struct A {\n", "server/c/b.h": "class A : public B {\n"})
    headers = {}
    problems, lengths = [], []
    for path in tracked_files():
        if path.endswith(SOURCE) and os.path.exists(os.path.join(ROOT, path)):
            text = read(path)
            problems += problems_of(path, text)
            if path.endswith(".h"):
                headers[path] = text
            lengths.append(text.count("\n"))
    problems += twins(headers)
    print("\n".join(problems) or
          f"{len(lengths)} files: median {statistics.median(lengths):.0f} lines, "
          f"longest {max(lengths)}")
    return 1 if problems or len(lengths) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
