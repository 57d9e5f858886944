#!/usr/bin/env python3
"""Makes the table of targets and measured figures from a folder of results.

  summarise.py FOLDER [--predict=PROGRAM [--mode=full]]

--predict names predict_kernels (build/release/bin): the times of unseen kernels are then predicted
from the run's own calibration of that mode, into FOLDER/predictions.csv, and scored. The exit code
tells whether the table was made, not whether the targets are met.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import targets
from results import read_facts, read_table
from scores import prediction_lines


def read_runs(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []


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
    counts = [f for f in facts if f["fact"] == "kernel_tests"]
    if not counts:
        yield targets.Line("kernels against a float64 reference", "all pass",
                           targets.NOT_MEASURED, None)
        return
    last = counts[-1]
    yield targets.Line("kernels against a float64 reference", "all pass",
                       f"{last['passed']} passed, {last['failed']} failed, "
                       f"{last['skipped']} skipped",
                       last["exit_code"] == 0 and last["passed"] > 0 and last["skipped"] == 0)


def training_line(rows):
    fitted = [row for row in rows if row["step_time_s"]]
    return targets.told("training steps measured",
                        f"{len(fitted)} of {len(rows)} jobs" if rows else None)


def lines_of(folder):
    facts = read_facts(os.path.join(folder, "facts.jsonl"))
    runs = read_runs(os.path.join(folder, "probes.jsonl"))
    matmuls = read_table(os.path.join(folder, "matmul.csv"))
    out = list(test_lines(facts))
    for some in (targets.time_lines(runs), targets.coverage_lines(runs),
                 targets.memory_lines(runs), targets.size_lines(runs),
                 targets.repeat_lines(runs), targets.rate_lines(runs, matmuls),
                 targets.copy_lines(runs, facts), targets.refusal_lines(facts),
                 targets.condition_lines(runs),
                 prediction_lines(read_table(os.path.join(folder, "predictions.csv")))):
        out += some
    out.append(targets.gpm_line(facts))
    out.append(training_line(read_table(os.path.join(folder, "training_steps.csv"))))
    return out


def steps_text(facts):
    out = ["| step | outcome | seconds | |", "| --- | --- | ---: | --- |"]
    out += [f"| {f['name']} | {f['outcome']} | {f['seconds']} | {f['reason']} |"
            for f in facts if f["fact"] == "step"]
    return "\n".join(out)


def table_text(lines):
    verdicts = {True: "met", False: "MISSED", None: ""}
    out = ["| figure | target | measured | |", "| --- | --- | --- | --- |"]
    out += [f"| {line.figure} | {line.target} | {line.measured} | {verdicts[line.met]} |"
            for line in lines]
    met, missed = (sum(line.met is verdict for line in lines) for verdict in (True, False))
    unknown = sum(bool(line.target) and line.met is None for line in lines)
    return "\n".join(out) + (f"\n\n{met} targets met, {missed} missed, {unknown} not measured.")


def device_text(facts):
    devices = [f for f in facts if f["fact"] == "device"]
    if not devices:
        return "No GPU was listed."
    last = devices[-1]
    return ", ".join(f"{name} {last[name]}" for name in
                     ("product_name", "driver_version", "cuda_version", "power_limit_watts")
                     if name in last)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--predict")
    parser.add_argument("--mode", choices=("quick", "standard", "full"), default="full")
    options = parser.parse_args()
    if not os.path.isdir(options.folder):
        raise SystemExit(f"there is no folder {options.folder}")
    if options.predict:
        calibration = targets.best_calibration(
            read_runs(os.path.join(options.folder, "probes.jsonl")), [options.mode])
        if calibration is None:
            raise SystemExit(f"no {options.mode} run of the probe has a calibration")
        predict(options.predict, options.folder, calibration)
    facts = read_facts(os.path.join(options.folder, "facts.jsonl"))
    print("\n\n".join([device_text(facts), table_text(lines_of(options.folder)),
                       steps_text(facts)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
