#!/usr/bin/env python3
"""Appends to FILE, as a fact, which commit the tree is of and what differs from it.

  commit.py FILE

carry.sh writes it beside the programs, since the machine with the GPU may have no git.
"""

import os
import subprocess
import sys

from results import add_fact

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=True).stdout


def main():
    try:
        add_fact(sys.argv[1], "commit", commit=git("rev-parse", "HEAD").strip(),
                 changed=git("status", "--porcelain").splitlines()[:50])
    except (OSError, subprocess.CalledProcessError) as fault:
        print(f"no commit: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
