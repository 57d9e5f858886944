#!/usr/bin/python3
"""The subjects of new commits: `folder: verb ...`, at most 72 columns, one thing each."""

import os
import re
import sys

import new_commits

MAX_COLUMNS = 72
# What no imperative starts with.
NO_VERBS = frozenset(
    "a an the no not what how where when why which who some more most all one two three of for "
    "from in on at by to with without after before its their our this that these those it they "
    "wip format formatting comment comments fixup squash".split())
# Imperatives that end as a participle, a plural or a third person does.
VERBS = frozenset(
    "bring embed feed focus need proceed seed shed speed spring string".split())


def fault_of(subject, folders):
    """What is wrong with a subject, or None."""
    if len(subject) > MAX_COLUMNS:
        return f"{len(subject)} columns, more than {MAX_COLUMNS}"
    parts = re.fullmatch(r"([^:]+): (\S.*)", subject)
    if not parts:
        return "does not start with `folder: `"
    for folder in parts[1].split(", "):
        if folder not in folders:
            return f"{folder} is no folder"
    words = parts[2].split()
    verb = words[0]
    if not re.fullmatch(r"[a-z][a-z-]*", verb) or verb in NO_VERBS:
        return f"`{verb}` is no verb"
    if re.search(r"(ed|ing|[^s]s)$", verb) and verb not in VERBS:
        return f"`{verb}` is no imperative: `add`, not `added`, `adding` or `adds`"
    if len(words) == 1:
        return "does not say what is different afterwards"
    if ";" in subject:
        return "more than one thing"
    return None


def known_folders(commits):
    """The folders of the tree and of what the commits remove, by each part of a path; and `build`,
    for the build itself."""
    folders = {"build"}
    files = new_commits.git("ls-files") + "\n" + new_commits.git(
        "log", "--name-only", "--format=", *commits)
    for file in files.splitlines():
        path = os.path.dirname(file).split("/")
        for end in range(1, len(path) + 1):
            folders.update("/".join(path[start:end]) for start in range(end))
    return folders


def check_examples(folders):
    """Known subjects get the verdict that they should."""
    for subject in ("server: fit a calibration once", "engine/time: pass stages by reference",
                    "tests: need no network",
                    "search, tests/engine: keep one layout"):
        assert fault_of(subject, folders) is None, subject
    for subject in ("Fix review comments", "memory: a comment", "server: wip", "docs: more words",
                    "client: added a flag", "client: adds a flag", "docs: shorten",
                    "nowhere: fit once",
                    "engine: fit once; tests: sweep all fields", "server: " + "fit " * 17):
        assert fault_of(subject, folders), subject


def main():
    base = new_commits.base_commit()
    commits = [f"{base}..HEAD"] if base else ["--max-count=1", "HEAD"]
    log = new_commits.git("log", "--no-merges", "--format=%h %s", *commits)
    if log is None:
        print("skipped: no git history")
        return new_commits.SKIPPED
    folders = known_folders(commits)
    check_examples(folders)
    subjects = [line.split(" ", 1) for line in log.splitlines()]
    faults = [(commit, subject, fault) for commit, subject in subjects
              if (fault := fault_of(subject, folders))]
    for commit, subject, fault in faults:
        print(f"{commit} {subject}\n    {fault}")
    if not faults:
        print(f"{len(subjects)} new commits have a good subject")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
