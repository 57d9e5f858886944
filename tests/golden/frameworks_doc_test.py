#!/usr/bin/python3
"""docs/frameworks.md and docs/frameworks.csv list the engine's table of frameworks, docs/
software_stacks.md and .csv that of software stacks, and every cell has a source. --write writes
them."""

import csv
import io
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin")),
                    "framework_table")
COLUMNS = 4
HEAD = """# Training frameworks

One table, `engine/framework/framework.cc`, has what a framework does where a request leaves a field
open, the memory that it holds in addition to the model's tensors, and what it refuses. Requests'
defaults, the memory ledger ([memory.md](memory.md)), errors and suggested changes all read it. The
source of each cell: [frameworks.csv](frameworks.csv). Both are written by
`tests/golden/frameworks_doc_test.py --write`.

A request names its framework in `layout.framework.kind`. A request that names none gets the
defaults of Megatron-LM, and no refusals. Without a layout no framework has a part: model state has
16 bytes a parameter under mixed precision, divided evenly over all devices.

"""


STACKS_HEAD = """# Software stacks

How fast a stack runs what a layout asks for: what its own kernels, overlaps and host make of the
fastest published kernels. One table, `engine/framework/software_stack.cc`, has them; a request
names one in `layout.software.name`, or gets that of its framework, and may set any constant itself.
The source of each cell: [software_stacks.csv](software_stacks.csv). Both are written by
`tests/golden/frameworks_doc_test.py --write`; [step_time.md](step_time.md) says what each constant
does. Three values are those on devices before Hopper, on Hopper and on Blackwell.

"""


def cells(*arguments):
    """The table's lines."""
    out = subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=True).stdout
    return out, list(csv.DictReader(io.StringIO(out)))


def page(rows):
    """A Markdown table: fields down, frameworks across."""
    frameworks = list(dict.fromkeys(row["framework"] for row in rows))
    fields = list(dict.fromkeys(row["field"] for row in rows))
    value = {(row["framework"], row["field"]): row["value"] for row in rows}
    lines = ["| | " + " | ".join(f"`{name}`" for name in frameworks) + " |",
             "| --- " * (len(frameworks) + 1) + "|"]
    lines += [f"| {field} | " + " | ".join(value[name, field] for name in frameworks) + " |"
              for field in fields]
    return HEAD + "\n".join(lines) + "\n"


def stacks_page(rows):
    """A Markdown table: stacks down, constants across, in parts."""
    stacks = list(dict.fromkeys(row["stack"] for row in rows))
    constants = list(dict.fromkeys(row["constant"] for row in rows))
    value = {(row["stack"], row["constant"]): row["value"] for row in rows}
    title = {row["stack"]: row["title"] for row in rows}
    text = STACKS_HEAD + "| name | stack |\n| --- | --- |\n"
    text += "".join(f"| `{stack}` | {title[stack]} |\n" for stack in stacks)
    for first in range(0, len(constants), COLUMNS):
        part = constants[first:first + COLUMNS]
        text += "\n| | " + " | ".join(part) + " |\n" + "| --- " * (len(part) + 1) + "|\n"
        for stack in stacks:
            cells_of = [value.get((stack, constant), "") for constant in part]
            text += f"| `{stack}` | " + " | ".join(cells_of) + " |\n"
    return text


def main():
    table, rows = cells()
    stacks_table, stacks = cells("--stacks")
    unsourced = [f"{row['framework']}: {row['field']}" for row in rows
                 if not row["source"] and row["value"] not in ("no", "0")]
    if unsourced:
        print("cells without a source: " + "; ".join(unsourced))
        return 1
    for name, text in {"frameworks.md": page(rows), "frameworks.csv": table,
                       "software_stacks.md": stacks_page(stacks),
                       "software_stacks.csv": stacks_table}.items():
        path = os.path.join(ROOT, "docs", name)
        if "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                print(f"docs/{name} is out of date: run tests/golden/frameworks_doc_test.py "
                      "--write")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
