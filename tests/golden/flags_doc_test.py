#!/usr/bin/python3
"""docs/flags.md lists the flags of the requests' fields, by the options of the API's fields, of
which `sextant` makes them. --write writes it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import api  # noqa: E402
from sextant.v1 import field_options_pb2 as options  # noqa: E402

PAGE = os.path.join(api.ROOT, "docs", "flags.md")
HEAD = """# Flags

Each flag of `sextant` that sets a field of a request, by the option `(sextant.v1.field)` of that
field: the program, the server's checks and this page read the same. A flag is one of every command
whose request has its field. `sextant COMMAND --help` has the rest, and the form of each value. This
page is written by `tests/golden/flags_doc_test.py --write`.

"""
# The request of each command, in the order of --help; the first that has a field lists it.
COMMANDS = {
    "PlanRunRequest": "plan`, `search`, `memory`, `compare`, `finetune",
    "SizeClusterRequest": "size-cluster",
    "SizeModelRequest": "size-model",
    "AllocateComputeRequest": "allocate",
    "AdmitRequest": "admit",
    "CountModelRequest": "count",
    "GetLinkTimesRequest": "links",
    "AnalyzeOperationRequest": "op",
    "AnalyzeGraphRequest": "graph",
    "AnalyzeTensorRequest": "tensor",
    "DescribeTokensRequest": "tokens",
}
UNITS = options.FieldDescription.Unit


def flags(message, prefix=""):
    """The fields below `message` that have a flag: (path, descriptor, option)."""
    for field in message.fields:
        option = field.GetOptions().Extensions[options.field]
        path = prefix + field.name
        if option.flag:
            yield path, field, option
        elif field.message_type is not None and field.label != field.LABEL_REPEATED:
            yield from flags(field.message_type, path + ".")


def number(value):
    """1e18, 65,536."""
    short = f"{value:g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")
    return f"{value:,.0f}" if value == int(value) and float(short) != value else short


def range_of(option):
    """"1 to 1e18"."""
    low = number(option.min) if option.HasField("min") else ""
    high = number(option.max) if option.HasField("max") else ""
    if option.above_min:
        return f"above {low}" + (f", to {high}" if high else "")
    return f"{low} to {high}" if low and high else f"from {low}" if low else high and f"to {high}"


def row(path, option):
    """A line of a table."""
    names = ", ".join(f"`{name}`" for name in option.flag.split(","))
    unit = UNITS.Name(option.unit).removeprefix("UNIT_") if option.unit else ""
    limits = f"{range_of(option)} {unit.lower().replace('_', ' ')}".strip()
    return f"| {names} | `{path}` | {limits} | {option.default_value} | {option.help} |"


def page():
    """The page's text."""
    out = HEAD
    seen = set()
    for name, commands in COMMANDS.items():
        rows = []
        for path, field, option in flags(getattr(api, name).DESCRIPTOR):
            if field.full_name not in seen:
                rows.append(row(path, option))
                seen.add(field.full_name)
        if rows:
            out += (f"## `{commands}`\n\n| flag | field | range, unit | default | what |\n"
                    "| --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n\n")
    return out.rstrip("\n") + "\n"


def main():
    text = page()
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        if file.read() == text:
            return 0
    print("docs/flags.md is out of date: run tests/golden/flags_doc_test.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
