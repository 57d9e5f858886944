#!/usr/bin/python3
"""Published training configurations fit where they ran: docs/accuracy_configurations.md.

Each row of configurations.yaml is asked of `sextant plan` as its own file has it. None may say
DOES NOT FIT. With --write, writes the page's table and its CSV.
"""

import shlex
import sys
from typing import NamedTuple

from cells import GIB, api, load, sextant_plan
from tables import Table, chosen, markdown, renew

LAUNCHERS = ("megatron", "torchtitan", "deepspeed")
TOKENS = "--tokens=1000000000000"  # of rows that say none: a step's time does not depend on them
COLUMNS = (
    "run|verdict|memory: GiB|low|high|published GiB:|step: s|low s|high s|published s:|"
    "difference %:|not modelled|source|sextant plan|launcher's settings"
).split("|")
SHOWN = ["run", "verdict", "memory: GiB", "published GiB:", "step: s", "published s:",
         "difference %:"]
ENDS = ("expected", "low", "high")


class Asked(NamedTuple):
    row: dict
    command: str
    settings: str
    plan: dict
    request: dict


def ask(row, common, server):
    """The plan of a row, and the request that it is of."""
    launcher = next((each for each in LAUNCHERS if each in row), "")
    settings = row.get(launcher, "")
    command = " ".join(filter(None, [row["command"], common]))
    words = shlex.split(command)
    if launcher == "megatron":
        words.append(f"--from-megatron={settings}")
    elif launcher:
        words.append(f"--from-{launcher}=-")
    if launcher in ("", "deepspeed"):
        words.append(TOKENS)
    text = settings if launcher in ("torchtitan", "deepspeed") else None
    plan = sextant_plan(server, [*words, "--view=basic"], text)["plan"]
    return Asked(row, command, settings, plan,
                 sextant_plan(server, [*words, "--print-request"], text))


def published_seconds(asked):
    """Of a step: as published, or by the tokens of a GPU in a second."""
    if "tokens" not in asked.row:
        return asked.row.get("seconds")
    request = asked.request
    step = (int(request["layout"]["globalBatchSize"])
            * int(request["training"]["sequenceLength"]))
    return step / int(request["cluster"]["deviceCount"]) / asked.row["tokens"]


def figures(interval, scale, digits):
    return [f"{interval[end] / scale:.{digits}f}" if interval else "" for end in ENDS]


def scored(asked, where):
    """Cells of a run, by COLUMNS."""
    memory, step = asked.plan["memory"], asked.plan.get("stepTime", {}).get("seconds")
    verdict = asked.plan["verdict"].removeprefix("VERDICT_").replace("_", " ")
    measured = published_seconds(asked)
    difference = f"{100 * (step['expected'] / measured - 1):+.0f}" if step and measured else ""
    return [
        asked.row["id"], verdict, *figures(memory["peakBytes"], GIB, 1),
        str(asked.row.get("memory", "")), *figures(step, 1, 2),
        f"{measured:.2f}" if measured else "", difference,
        "; ".join(memory.get("unmodelledSettings", [])), f"{where}, {asked.row['file']}",
        asked.command, " ".join(asked.settings.split()),
    ]


def main():
    sources = load("configurations.yaml").values()
    with api.Server("--log_calls=none") as server:
        cells = [scored(ask(row, source.get("common", ""), server), source["where"])
                 for source in sources for row in source["rows"]]
    table = Table(COLUMNS, cells)
    assert len(cells) >= 12, "some rows are gone"
    wrong = [row[0] for row in cells if row[1] == "DOES NOT FIT"]
    stale = renew("accuracy_configurations", markdown(chosen(table, SHOWN)), {"runs": table})
    if wrong:
        sys.exit(f"DOES NOT FIT where it ran: {', '.join(wrong)}")
    sys.exit(stale)


main()
