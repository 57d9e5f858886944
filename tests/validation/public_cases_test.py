#!/usr/bin/python3
"""Questions that people asked in public, each with its truth, and what the command answers:
docs/accuracy_cases.md.

  public_cases_test.py [--write]   every question is asked as its asker would; those that are
                                   answered wrong are in public_cases.yaml, each with the reason,
                                   and no others. --write renews the page.
"""

import json
import os
import shlex
import subprocess
import sys
from typing import NamedTuple

from cells import GIB, ROOT, api, load, shared
from tables import Table, markdown, stale

MIB = 2**20
FILES = ("cases_3", "cases_3b")
EXITS_WITH_ANSWER = (0, 1, 7)

# Kinds of questions whose truth is an amount of memory: its unit, and which figure of a plan it is.
MEMORY_UNITS = {
    "nvidia_smi_gb": (GIB, "process"), "peak_gb": (1e9, "process"), "used_gb": (GIB, "process"),
    "allocated_gb": (1e9, "allocated"), "allocated_mib": (MIB, "allocated"),
    "reserved_gib": (GIB, "reserved"), "state_gib": (GIB, "state"),
}


class Answer(NamedTuple):
    """What was answered, in words, and whether it is right."""

    words: str
    right: bool


def asked(case, folder, extra=()):
    words = ["bash", "-c", f"exec sextant {case['arguments']} {shlex.join(extra)}"]
    path = api.BIN + os.pathsep + os.environ["PATH"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path})


def share_of(tolerance):
    """0.1 of "10 %, or inside low to high"; absent: None."""
    words = tolerance.split()
    return float(words[0]) / 100 if len(words) > 1 and words[1].startswith("%") else None


def interval_of(plan, figure):
    if figure == "process":
        return plan["memory"]["peakBytes"]
    stages = plan["memory"].get("stages", [])
    if figure == "state":  # shared evenly
        size = float(plan["memory"]["state"]["stateBytes"]) / float(plan["deviceCount"])
        return {"low": size, "expected": size, "high": size}
    return max((stage[f"{figure}Bytes"] for stage in stages), key=lambda i: i["expected"])


def of_verdict(case, plan):
    verdict = plan["verdict"].removeprefix("VERDICT_").lower()
    allowed = {case["truth"]["verdict"]} | ({"tight"} if "TIGHT" in case["tolerance"] else set())
    return Answer(verdict.replace("_", " "), verdict in allowed)


def of_memory(case, plan):
    unit, figure = MEMORY_UNITS[case["kind"]]
    truth = next(iter(case["truth"].values())) * unit
    interval = interval_of(plan, figure)
    share = share_of(case["tolerance"]) or 0
    inside = "inside" in case["tolerance"] and interval["low"] <= truth <= interval["high"]
    words = (f"{interval['expected'] / GIB:.2f} GiB ({interval['low'] / GIB:.2f} to "
             f"{interval['high'] / GIB:.2f}), {figure}; measured {truth / GIB:.2f}")
    return Answer(words, inside or abs(interval["expected"] / truth - 1) <= share)


def of_step(case, plan):
    step = plan["stepTime"]["seconds"]
    truth = case["truth"]["seconds"]
    inside = "inside" in case["tolerance"] and step["low"] <= truth <= step["high"]
    near = abs(step["expected"] / truth - 1) <= (share_of(case["tolerance"]) or 0)
    words = (f"{step['expected']:.3g} s ({step['low']:.3g} to {step['high']:.3g}); measured "
             f"{truth:.3g}")
    return Answer(words, inside or near)


OF_PLANS = {"verdict": of_verdict, "step_seconds": of_step,
            **dict.fromkeys(MEMORY_UNITS, of_memory)}


def answer_of(case, folder):
    said = asked(case, folder, ("--output=json",))
    if said.returncode not in EXITS_WITH_ANSWER:
        message = json.loads((said.stdout or said.stderr).strip().splitlines()[-1])["message"]
        return Answer(f"refused: {' '.join(message.split())[:160]}", False)
    answer = json.loads(said.stdout)
    return OF_PLANS[case["kind"]](case, answer.get("plan", answer))


def main():
    folders = {name: shared(os.path.join("golden", name)) for name in FILES}
    if None in folders.values():
        print("skipped: no shared cases: set SEXTANT_SHARED_DIR")
        return api.SKIPPED
    missed, said = (load("public_cases.yaml")[key] for key in ("missed", "said"))
    rows, problems, right = [], [], 0
    for name, folder in folders.items():
        with open(f"{folder}.jsonl", encoding="utf-8") as file:
            cases = [json.loads(text) for text in file]
        for case in cases:
            if case["kind"] not in OF_PLANS:
                continue
            case["arguments"] += " " + said.get(case["id"], "")
            answer = answer_of(case, folder)
            reason = missed.pop(case["id"], None)
            if answer.right == (reason is not None):
                problems.append(f"{case['id']}: {answer.words}: "
                                + ("right, and listed as missed" if answer.right else "wrong"))
            right += answer.right
            rows.append([case["id"], case["question"], answer.words,
                         "right" if answer.right else reason or "", case["truth_source"]])
    problems += [f"{name} is missed, and asked nowhere" for name in missed]
    print("\n".join(problems))
    table = Table(["case", "question", "answer", "right, or why not", "source of the truth"], rows)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "public_cases.md"),
              encoding="utf-8") as file:
        head = file.read()
    text = f"{head}\nOf {len(rows)} questions {right} are answered right.\n\n{markdown(table)}"
    out_of_date = stale(os.path.join(ROOT, "docs", "accuracy_cases.md"), text,
                        "--write" in sys.argv)
    return int(bool(problems) or out_of_date)


if __name__ == "__main__":
    sys.exit(main())
