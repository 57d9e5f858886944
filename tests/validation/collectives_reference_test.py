#!/usr/bin/python3
"""The reference tables of collectives are what their script makes of the published table. Skipped
(77) without it."""

import os
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


def main():
    if not os.path.exists(TABLE):
        print(f"no {TABLE}")
        return SKIPPED
    problems = [f"{name}: run make_collectives_reference.py again" for name in stale_files()]
    print("\n".join(problems) or "as made")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
