#!/usr/bin/python3
"""The reference tables of collectives are what their script makes of the published table, and
docs/links.md has the report's first table as it is. Skipped (77) without the published table."""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
TABLE = os.path.join(SHARED, "data", "kernels", "collectives.csv")
FOLDER = os.path.join(ROOT, "engine", "hardware", "reference")
SKIPPED = 77


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def stale_files():
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([os.path.join(FOLDER, "make_collectives_reference.py"), TABLE, made],
                       check=True)
        names = sorted(os.listdir(made))
        assert len(names) >= 5, names
        return [name for name in names
                if not os.path.exists(os.path.join(FOLDER, name)) or
                read(os.path.join(FOLDER, name)) != read(os.path.join(made, name))]


def undocumented_lines():
    """Lines of the report's first table that docs/links.md does not have as they are."""
    program = os.path.join(os.environ["SEXTANT_BIN"], "collectives_accuracy")
    printed = subprocess.run([program, TABLE], check=True, capture_output=True, text=True).stdout
    first = printed.split("\n\n")[1]
    lines = [line for line in first.splitlines() if re.match(r"\| [a-z]", line)]
    assert len(lines) > 20, printed
    documented = set(read(os.path.join(ROOT, "docs", "links.md")).splitlines())
    return [line for line in lines if line not in documented]


def main():
    if not os.path.exists(TABLE):
        print(f"no {TABLE}")
        return SKIPPED
    problems = [f"{name}: run make_collectives_reference.py again" for name in stale_files()]
    problems += [f"docs/links.md has not: {line}" for line in undocumented_lines()]
    print("\n".join(problems) or "as made")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
