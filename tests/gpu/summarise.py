#!/usr/bin/env python3
"""Makes the table of targets and measured figures from a folder of results.

  summarise.py FOLDER [--predict=PROGRAM [--mode=full]]

--predict names tests/validation/predict_kernels.py: the times of unseen kernels are then predicted
from the run's own calibration of that mode, into FOLDER/predictions.csv, and scored. The exit code
tells whether the table was made, not whether the targets are met.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import namedtuple

import experiments
import probe
import targets
from results import read_facts, read_table

# Seconds since the probe started. `visits`: how often it was entered, since phases take turns.
Phase = namedtuple("Phase", "name began_seconds lasted_seconds visits")


def phases_of(run):
    """The phases of a run in the order in which they began. One lasts from its event to the next
    event of another phase; the last one to the end of the process."""
    events = run.get("progress", [])
    began, lasted, visits, before = {}, {}, {}, None
    ends = [event["elapsedSeconds"] for event in events[1:]] + [run["wall_seconds"]]
    for event, end in zip(events, ends):
        name, start = event.get("phase", ""), event.get("elapsedSeconds", 0.0)
        began.setdefault(name, start)
        lasted[name] = lasted.get(name, 0.0) + max(0.0, end - start)
        if name != before:
            visits[name] = visits.get(name, 0) + 1
        before = name
    return [Phase(name, began[name], lasted[name], visits[name]) for name in began]


def phase_table(runs):
    """Of {title: run}: a table with a row a phase and, of each run, when it began and how long it
    lasted."""
    tables = {title: {p.name: p for p in phases_of(run)} for title, run in runs.items()}
    names = []
    for phases in tables.values():
        names += [name for name in phases if name not in names]
    if not names:
        return "No run of the probe told its progress."
    head = ["phase"]
    for title in tables:
        head += [f"{title}: began, s", "lasted, s"]
    out = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for name in names:
        row = [name or "(none)"]
        for phases in tables.values():
            phase = phases.get(name)
            row += ([f"{phase.began_seconds:.2f}", f"{phase.lasted_seconds:.2f}"] if phase
                    else ["", ""])
        out.append(row)
    out.append(["whole process"] + [cell for run in runs.values()
                                    for cell in ("0.00", f"{run['wall_seconds']:.2f}")])
    return "\n".join("| " + " | ".join(row) + " |" for row in out)


def predict(program, folder, calibration):
    """Writes predictions.csv. Errors end the program."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "calibration.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(calibration, file)
        out = ""
        for name in ("unseen_gemms.csv", "attention.csv"):
            table = os.path.join(folder, name)
            if not read_table(table):
                print(f"nothing to predict: {table} has no rows")
                continue
            done = subprocess.run([program, path, table], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{program}: {done.stderr.strip()}")
            lines = done.stdout.splitlines(keepends=True)
            out += "".join(lines if not out else lines[1:])
    with open(os.path.join(folder, "predictions.csv"), "w", encoding="utf-8") as file:
        file.write(out)


def test_lines(facts):
    figure, target = "kernels against a float64 reference", "none fails, most are not skipped"
    counts = [f for f in facts if f["fact"] == "kernel_tests"]
    if not counts:
        yield targets.Line(figure, target, targets.NOT_MEASURED, None)
        return
    last = counts[-1]
    yield targets.Line(figure, target,
                       f"{last['passed']} passed, {last['failed']} failed, "
                       f"{last['skipped']} skipped",
                       last["exit_code"] == 0 and last["passed"] > 0
                       and last["passed"] >= last["skipped"])
    reasons = {}
    for name, reason in last["skipped_tests"].items():
        reasons.setdefault(" ".join(reason.split()), []).append(name)
    for reason, names in reasons.items():
        yield targets.told(f"skipped: {', '.join(names)}", reason or "no reason given")


def training_line(rows):
    fitted = [row for row in rows if row["step_time_s"]]
    return targets.told("training steps measured",
                        f"{len(fitted)} of {len(rows)} jobs" if rows else None)


def why_not(step, facts):
    """Why a figure of that step was not measured."""
    steps = {f["name"]: f for f in facts if f["fact"] == "step"}
    if step not in steps:
        return f"{step} was not among the steps"
    if steps[step]["outcome"] == "ok":
        return f"{step} was done, and its results lack it"
    return f"{step}: {steps[step]['outcome']}, {steps[step]['reason']}"


def with_reason(step, lines, facts):
    """The lines, those that were not measured with why."""
    for line in lines:
        if line.measured == targets.NOT_MEASURED:
            line = line._replace(measured=f"{targets.NOT_MEASURED}: {why_not(step, facts)}")
        yield line


def prediction_part(folder, facts):
    path = os.path.join(folder, "predictions.csv")
    if os.path.exists(path):
        return list(with_reason("unseen", targets.prediction_lines(read_table(path)), facts))
    return [line._replace(measured=f"{targets.NOT_MEASURED}: predicted at home, by --predict")
            for line in targets.prediction_lines([])]


def target_lines(folder, facts, runs):
    matmuls = read_table(os.path.join(folder, "matmul.csv"))
    training = read_table(os.path.join(folder, "training_steps.csv"))
    measured = [run for run in runs if run["step"] == "probes"]
    parts = (("kernel_tests", test_lines(facts)), ("probes", targets.time_lines(measured)),
             ("probes", targets.coverage_lines(measured)),
             ("probes", targets.memory_lines(measured)), ("probes", targets.size_lines(measured)),
             ("probes", targets.repeat_lines(measured)),
             ("search", targets.rate_lines(measured, matmuls, facts)),
             ("matmul", targets.same_shape_lines(matmuls)),
             ("copies", targets.copy_lines(measured, facts)),
             ("busy", targets.refusal_lines(facts)),
             ("probes", targets.condition_lines(measured)), ("training", [training_line(training)]))
    return [line for step, lines in parts for line in with_reason(step, lines, facts)
            ] + prediction_part(folder, facts)


def experiment_lines(facts, runs):
    device = last_fact(facts, "device")
    parts = (("cold", experiments.cold_lines([r for r in runs if r["step"] == "cold"])),
             ("back_to_back", [experiments.back_to_back_line(facts)]),
             ("cudnn", [experiments.cudnn_line(facts)]),
             ("kernel_times", experiments.kernel_lines(facts)),
             ("busy", [experiments.gpm_line(facts, device)]))
    return [line for step, lines in parts for line in with_reason(step, lines, facts)]


def steps_text(facts):
    out = ["| step | outcome | seconds | |", "| --- | --- | ---: | --- |"]
    out += [f"| {f['name']} | {f['outcome']} | {f['seconds']} | {f['reason']} |"
            for f in facts if f["fact"] == "step"]
    return "\n".join(out)


def table_text(lines, head, words):
    verdicts = {True: words[0], False: words[1], None: ""}
    out = [f"| {' | '.join(head)} | |", "| --- | --- | --- | --- |"]
    out += [f"| {line.figure} | {line.target} | {line.measured} | {verdicts[line.met]} |"
            for line in lines]
    return "\n".join(out)


def count_text(lines):
    met, missed = (sum(line.met is verdict for line in lines) for verdict in (True, False))
    unknown = sum(bool(line.target) and line.met is None for line in lines)
    return f"{met} targets met, {missed} missed, {unknown} not measured."


def last_fact(facts, name):
    found = [f for f in facts if f["fact"] == name]
    return found[-1] if found else {}


def head_text(facts):
    device, commit = last_fact(facts, "device"), last_fact(facts, "commit")
    told = [f"{name} {device[name]}" for name in
            ("productName", "driverVersion", "cudaVersion", "powerLimitWatts")
            if name in device]
    out = ", ".join(told) or "No GPU was listed."
    if not commit:
        return f"{out}\nThe commit is not known."
    changed = f", {len(commit['changed'])} files changed" if commit["changed"] else ""
    return f"{out}\nCommit {commit['commit']}{changed}."


def told_phases(runs):
    """Of the runs whose phases are shown, by title: the cold ones, and the last of each mode."""
    out = {f"cold, cache {r['cache']}": r for r in runs if r["step"] == "cold"}
    for mode in ("quick", "standard", "full"):
        of_mode = [r for r in runs if r["step"] == "probes" and r["mode"] == mode]
        out.update({mode: r for r in of_mode[-1:]})
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--predict")
    parser.add_argument("--mode", choices=("quick", "standard", "full"), default="full")
    options = parser.parse_args()
    if not os.path.isdir(options.folder):
        raise SystemExit(f"there is no folder {options.folder}")
    runs = probe.read_runs(os.path.join(options.folder, "probes.jsonl"))
    if options.predict:
        calibration = probe.best_calibration([r for r in runs if r["step"] == "probes"],
                                             [options.mode])
        if calibration is None:
            raise SystemExit(f"no {options.mode} run of the probe has a calibration")
        predict(options.predict, options.folder, calibration)
    facts = read_facts(os.path.join(options.folder, "facts.jsonl"))
    lines = target_lines(options.folder, facts, runs)
    print("\n\n".join(part for part in [
        head_text(facts),
        table_text(lines, ("figure", "target", "measured"), ("met", "MISSED")), count_text(lines),
        table_text(experiment_lines(facts, runs), ("experiment", "expected", "measured"),
                   ("as expected", "OTHERWISE")),
        experiments.kernel_table(facts), phase_table(told_phases(runs)),
        experiments.nvml_tables(facts), steps_text(facts)] if part))
    return 0


if __name__ == "__main__":
    sys.exit(main())
