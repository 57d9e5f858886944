#!/usr/bin/python3
"""The modules of Slurm's hooks under each Lua that Slurm has, without Slurm or a planner."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77
VERSIONS = ("lua5.1", "lua5.3", "lua5.4")


def main():
    found = [version for version in VERSIONS if shutil.which(version)]
    if not found:
        print("skipped: no lua5.1, lua5.3 or lua5.4 (deploy/install-deps.sh tests)")
        return SKIPPED
    failed = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "slurm", "lua", "*.lua"))):
        name = os.path.basename(path)
        if name in ("check.lua", "ask.lua"):
            continue
        for version in found:
            with tempfile.TemporaryDirectory() as folder:
                run = subprocess.run(
                    [version, path, ROOT], capture_output=True, text=True, timeout=60, check=False,
                    env={**os.environ, "SEXTANT_SLURM_FILE": os.path.join(folder, "slurm.lua")})
            print(f"{version} {name}: {run.returncode} {run.stdout}{run.stderr}", flush=True)
            if run.returncode != 0:
                failed.append((version, name))
    assert not failed, failed
    return 0


if __name__ == "__main__":
    sys.exit(main())
