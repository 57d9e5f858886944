#!/usr/bin/python3
"""Runs a program with a folder of a fuzz target's seeds, which is what libFuzzer reads.

  seeds.py TARGET PROGRAM [ARGUMENT...]   the folder becomes the last argument

tests/fuzz/seeds/TARGET.txt has the seeds, each below a line "--- NAME"; a seed ends before the
newline that precedes the next of these lines. Seeds of `config` are also the published config.json
files, those of `import` the files of tests/golden/launchers, and those of `calibration` the files
of tests/fuzz/calibrations, which other tests read.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8", newline="") as file:
        return file.read()


def seeds_of(target):
    """The seeds' texts by their names."""
    if target == "calibration":
        paths = glob.glob(os.path.join(ROOT, "tests", "fuzz", "calibrations", "*"))
        return {os.path.basename(path): read(path) for path in paths}
    parts = re.split(r"^--- (\w+)\n", read("tests", "fuzz", "seeds", f"{target}.txt"),
                     flags=re.MULTILINE)
    seeds = {name: text[:-1] for name, text in zip(parts[1::2], parts[2::2])}
    if target == "config":
        for line in read("tests", "golden", "config_json.jsonl").splitlines():
            row = json.loads(line)
            seeds[row["name"]] = json.dumps(row["config"], indent=2)
    if target == "import":
        for path in glob.glob(os.path.join(ROOT, "tests", "golden", "launchers", "*")):
            if not path.endswith("_options.txt"):
                seeds[os.path.basename(path)] = read(path)
    return seeds


def write(target, folder):
    """Writes the seeds into a folder, a file each."""
    for name, text in seeds_of(target).items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)


def main():
    target, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        write(target, folder)
        return subprocess.run([*command, folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
