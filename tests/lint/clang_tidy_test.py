#!/usr/bin/python3
"""clang-tidy has nothing to say about the C++ files that a change touches.

    tests/lint/clang_tidy_test.py            at most 40 files of new commits, as CI does
    tests/lint/clang_tidy_test.py FILE...    these
    tests/lint/clang_tidy_test.py --all      all, which takes hours of a processor

Reads the compile commands of the preset dev, which it configures, and makes the headers that protoc
writes; nothing is compiled.
"""

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

import new_commits

ROOT = new_commits.ROOT
BUILD = os.path.join(ROOT, "build/dev")
MAX_FILES = 40


def run(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def compiled_files():
    """The files of ours that the preset dev compiles, relative to the tree's root."""
    for command in (("cmake", "--preset", "dev", "-DSEXTANT_BUILD_TESTS=ON"),
                    ("cmake", "--build", "--preset", "dev", "--target", "sextant_generated")):
        ran = run(*command)
        if ran.returncode:
            sys.exit(f"{' '.join(command)}:\n{ran.stdout}")
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        files = {os.path.relpath(command["file"], ROOT) for command in json.load(file)}
    return {file for file in files if not file.startswith("build/")}


def touched_files(compiled):
    """Those that new commits and the work tree touch; of a header, the file of the same name."""
    base = new_commits.base_commit()
    if base is None:
        print("skipped: no commit to compare with")
        sys.exit(new_commits.SKIPPED)
    touched = new_commits.git("diff", "--name-only", "--diff-filter=d", base).splitlines()
    files = {os.path.splitext(file)[0] + ".cc" for file in touched if file.endswith((".cc", ".h"))}
    return sorted(files & compiled)


def main():
    if not shutil.which("clang-tidy"):
        print("skipped: no clang-tidy (deploy/install-deps.sh tests)")
        return new_commits.SKIPPED
    compiled = compiled_files()
    files = sys.argv[1:] or touched_files(compiled)[:MAX_FILES]
    if files == ["--all"]:
        files = sorted(compiled)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda file: run("clang-tidy", "--quiet", "-p", BUILD, file), files)
        faults = [ran.stdout for ran in runs if ran.returncode]
    print("".join(faults) + f"{len(files)} files, {len(faults)} with findings")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
