#!/usr/bin/python3
"""Lists functions, types and constants that nothing uses, and those that only tests use.

  tests/lint/dead_names.py

A name is used if it occurs, in a file that includes its header, anywhere other than in declarations
and definitions, or if a string there is equal to it. Scopes are not resolved: things of one header
that share a name are dead only if all of them are. Not counted: kernels, which are launched by
name; overrides and extern "C" functions, which libraries call.
"""

import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cpp_scan import scan  # noqa: E402
from structure import CODE, HOUSES, INCLUDE, read, tracked  # noqa: E402

CALLED_BY_LIBRARIES = {"main", "operator", "to_json", "from_json", "AbslStringify",
                       "AbslHashValue", "PrintTo", "__asan_default_options",
                       "LLVMFuzzerTestOneInput", "LLVMFuzzerCustomMutator", "LLVMFuzzerMutate"}


def texts_of_tree():
    return {path: read(path) for path in tracked() if path.endswith(CODE)}


def includes_of(texts):
    """For each file, all files of the tree that it includes, also through others, and itself."""
    direct = {path: [target for target in INCLUDE.findall(text) if target in texts]
              for path, text in texts.items()}
    closure = {}
    for path in texts:
        seen, left = {path}, [path]
        while left:
            for target in direct[left.pop()]:
                if target not in seen:
                    seen.add(target)
                    left.append(target)
        closure[path] = seen
    return closure


def dead_names(texts):
    """Two sorted lists of (file, name): names that nothing uses, and names of programs that only
    tests use."""
    homes, users = set(), collections.defaultdict(set)
    exempt = set(CALLED_BY_LIBRARIES)
    for path, text in texts.items():
        names = scan(text)
        exempt.update(names.overrides)
        homes.update((path, name) for name in names.declared)
        for name in names.used:
            users[name].add(path)
    in_headers = {name for path, name in homes if path.endswith(".h")}
    closure = includes_of(texts)
    unused, only_tests = [], []
    for path, name in sorted(homes):
        source = path.endswith(".cc")
        if name in exempt or path.endswith(".cu") or (source and name in in_headers):
            continue
        # Kernels are emulated by including them; a source's own names may be declared in headers
        # in ways that a scan does not see.
        found = [user for user in users[name] if path in closure[user] or user.endswith(".cu") or
                 (source and user.endswith(".h"))]
        if not found:
            unused.append((path, name))
        elif path.startswith(HOUSES) and not any(user.startswith(HOUSES) for user in found):
            only_tests.append((path, name))
    return unused, only_tests


def main():
    unused, only_tests = dead_names(texts_of_tree())
    for title, names in (("used by nothing", unused), ("used only by tests", only_tests)):
        for path, name in names:
            print(f"{path}: {name}: {title}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
