#!/usr/bin/python3
"""docs/frameworks.md lists the engine's tables of frameworks, of model codes and of software
stacks, as docs/frameworks.csv, docs/model_codes.csv and docs/software_stacks.csv do with sources,
of which each cell has one.
--write writes them."""

import csv
import io
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin")),
                    "framework_table")
HEAD = """# Frameworks and software stacks

`engine/framework/framework.cc` has what a framework does where a request leaves a field open,
the memory that it holds in addition to the model's tensors, and what it refuses. Requests'
defaults, the memory ledger ([memory.md](memory.md)), errors and suggested changes all read it. The
source of each cell: [frameworks.csv](frameworks.csv). This page and both tables are written by
`tests/golden/frameworks_doc_test.py --write`.

A request names its framework in `layout.framework.kind`. A request that names none gets the
defaults of Megatron-LM: a search looks for the layouts that Megatron-LM can express, as where it is
named, and a layout that is given is not refused. The software stack is not known then, which makes
intervals of time wider. Without a layout the framework does not matter: model state has 16 bytes a
parameter under mixed precision, divided evenly over all devices.

"""

CODES_HEAD = """
## Model codes

A framework holds the state and moves it; whose code computes the model and its loss is a setting
of its own, `layout.framework.model_code`. A framework's name stands for a pair: the lines above
are those of the code that it usually trains. DeepSpeed has two: under tensor or pipeline
parallelism Megatron's (Megatron-DeepSpeed), else Hugging Face's transformers, whose logits are
whole and are kept in three types (docs/memory.md, "What stands around the layers"). Where neither
the code nor the loss is given, the answer names the other loss and what it takes
(`open_choices`), and its interval holds both.

Attention follows the code, the model's class and the device. BLOOM, MPT and T5 of transformers
have scores in memory in every release. GPT-2, OPT and GPT-NeoX got fused attention in 2024, so
that the interval holds both; of other classes the answer says where scores in memory would change
the verdict. FlashAttention needs an Ampere GPU or a later one: on Volta and Turing Megatron's
code has scores in memory. The source of each cell: [model_codes.csv](model_codes.csv).

"""


STACKS_HEAD = """
## Software stacks

A software stack is what a framework's own kernels, overlaps and host make of the fastest published
kernels: ratios and shares by which a step's parts are scaled. A request names one in
`layout.software.name`, or gets its framework's, and may set any constant itself.
[step_time.md](step_time.md) says what each constant does; the source of each cell:
[software_stacks.csv](software_stacks.csv). Three values are those on devices before Hopper, on
Hopper and on Blackwell. A value with a need in brackets is that of layouts which have it; under
others the stack hides nothing of the exchange, and a note says so. What a request sets needs
nothing.

"""


def cells(*arguments):
    """The table's lines."""
    out = subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=True).stdout
    return out, list(csv.DictReader(io.StringIO(out)))


def page(rows):
    """A Markdown table: a field a line, its most frequent value, and who has another."""
    frameworks = list(dict.fromkeys(row["framework"] for row in rows))
    fields = list(dict.fromkeys(row["field"] for row in rows))
    value = {(row["framework"], row["field"]): row["value"] for row in rows}
    lines = ["| field | most frameworks | others |", "| --- | --- | --- |"]
    for field in fields:
        values = [value[name, field] for name in frameworks]
        usual = max(values, key=values.count)
        others = [f"{other.replace('; ', ' or ')}: " + ", ".join(f"`{name}`" for name in frameworks
                                           if value[name, field] == other)
                  for other in dict.fromkeys(values) if other != usual]
        lines.append(f"| {field} | {usual} | {'; '.join(others)} |")
    names = ", ".join(f"`{name}`" for name in frameworks)
    return f"{names}.\n\n" + "\n".join(lines) + "\n"


def stacks_section(rows):
    """The first stack's constants, and those in which each other one differs from it."""
    stacks = list(dict.fromkeys(row["stack"] for row in rows))
    constants = list(dict.fromkeys(row["constant"] for row in rows))
    value = {(row["stack"], row["constant"]):
             row["value"] + (f" ({row['needs']})" if row["needs"] else "") for row in rows}
    title = {row["stack"]: row["title"] for row in rows}
    text = STACKS_HEAD + f"| name | stack | constants that differ from those of `{stacks[0]}` |\n"
    text += "| --- | --- | --- |\n"
    for stack in stacks:
        other = [f"{constant} {value.get((stack, constant), '')}" for constant in constants
                 if value.get((stack, constant)) != value.get((stacks[0], constant))]
        text += f"| `{stack}` | {title[stack]} | {', '.join(other)} |\n"
    text += f"\n| constant | value of `{stacks[0]}` |\n| --- | --- |\n"
    return text + "".join(f"| {constant} | {value.get((stacks[0], constant), '')} |\n"
                          for constant in constants)


def main():
    table, rows = cells()
    codes_table, codes = cells("--codes")
    stacks_table, stacks = cells("--stacks")
    unsourced = [f"{row['framework']}: {row['field']}" for row in rows + codes
                 if not row["source"] and row["value"] not in ("no", "0")]
    if unsourced:
        print("cells without a source: " + "; ".join(unsourced))
        return 1
    text = (f"{HEAD}The frameworks: {page(rows)}{CODES_HEAD}The codes: {page(codes)}"
            f"{stacks_section(stacks)}")
    for name, text in {"frameworks.md": text, "frameworks.csv": table,
                       "model_codes.csv": codes_table, "software_stacks.csv": stacks_table}.items():
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
