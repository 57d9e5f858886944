#!/usr/bin/python3
"""Names of the API that a caller's language has for itself: `message.pass` is no Python, and
`message.constructor` is something else in JavaScript."""

import glob
import keyword
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Members that each object of JavaScript has, or that it asks for.
OF_OBJECTS = {"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "then",
              "toJSON", "toLocaleString", "toString", "valueOf"}
DEFINED = re.compile(r"^\s*(?:message|enum|service|rpc|oneof)\s+(\w+)|(\w+)\s*=\s*-?\d+\s*[;\[]",
                     re.MULTILINE)


def taken_names(text):
    """The names that `text`, a .proto file, defines and should not."""
    code = re.sub(r"//.*", "", text)
    names = [first or second for first, second in DEFINED.findall(code)]
    return [name for name in names if keyword.iskeyword(name)
            or re.sub(r"_(\w)", lambda m: m.group(1).upper(), name) in OF_OBJECTS]


def main():
    bad = """message None { // string in = 1;
      repeated int64 from = 1 [deprecated = true]; string to_string = 2; int64 fine = 3;
      oneof is { map<string, int64> pass=4; } }"""
    assert taken_names(bad) == ["None", "from", "to_string", "is", "pass"], taken_names(bad)
    paths = glob.glob(os.path.join(ROOT, "proto", "sextant", "v1", "*.proto"))
    found = []
    for path in sorted(paths):
        with open(path, encoding="utf-8") as file:
            found += [f"{os.path.relpath(path, ROOT)}: {name}" for name in taken_names(file.read())]
    print("\n".join(found) or f"{len(paths)} files have no name of Python or JavaScript")
    return 1 if found or len(paths) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
