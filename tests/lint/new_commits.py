"""The commits that a change adds: those since the branch left main, or the last one on main."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77
MAIN = ("origin/main", "main")


def git(*arguments):
    """What git prints, or None where it fails."""
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else None


def base_commit():
    """The commit that the change starts from, or None: no git, or a clone that ends at HEAD."""
    head = git("rev-parse", "HEAD")
    for main in MAIN:
        base = git("merge-base", "HEAD", main)
        if base and base != head:
            return base
    return git("rev-parse", "--verify", "--quiet", "HEAD~1")
