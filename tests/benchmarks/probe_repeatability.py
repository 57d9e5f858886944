#!/usr/bin/python3
"""How well a probe repeats: the spread between probes against the spread that each claims.

  tests/benchmarks/probe_repeatability.py [--runs=5] [--mode=standard] [--output=FILE.jsonl]

Runs sextant-probe several times in a row. For each figure it prints the median of the runs'
rates, the spread between the runs (largest less smallest, over the median), the widest spread that
one run claimed (1.4826 MAD over median), and in how many of the runs that have the figure it called
itself stable. --output keeps the calibrations, one a line, as they came; --input reads such a file
in place of probing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))


def calibration_of(mode):
    command = [os.path.join(BIN, "sextant-probe"), "--format=json", f"--mode={mode}"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return next(json.loads(line)["calibration"] for line in lines if '"calibration"' in line)


def matmul_name(kind, matmul):
    data_type = matmul["dataType"].removeprefix("DATA_TYPE_").lower()
    return f"{kind} {data_type} {matmul['m']}x{matmul['n']}x{matmul['k']}"


class Figures(dict):
    """A second figure of one name would hide the first."""

    def __setitem__(self, key, value):
        assert key not in self, f"two figures are called {key}"
        super().__setitem__(key, value)


def operations_of(data_type):
    return "OP/s" if data_type == "DATA_TYPE_INT8" else "FLOP/s"


def figures_of(calibration):
    """(name, unit) -> (rate, its statistics) of every figure of one calibration."""
    out = Figures()
    for m in calibration.get("matmuls", []):
        if m.get("purpose") == "PURPOSE_OTHER":
            continue  # shapes do not tell them apart
        kind = "sustained" if m.get("window") == "WINDOW_SUSTAINED" else "matmul"
        key = matmul_name(kind, m), operations_of(m["dataType"])
        out[key] = (m["flopsPerSecond"], m["time"])
    for r in calibration.get("registers", []):
        key = f"registers {r['instruction']}", operations_of(r["dataType"])
        out[key] = (r["flopsPerSecond"], r["time"])
    for s in calibration.get("streams", []):
        operation = s["operation"].removeprefix("OPERATION_").lower()
        where = "memory" if s.get("mainMemory") else "cache"
        name = f"{operation} {where} {int(s['arrayBytes']) / 2**20:g} MiB"
        out[name, "B/s"] = (s["bytesPerSecond"], s["time"])
    for e in calibration.get("elementwise", []):
        name = f"elementwise {e['multiplyAddCount']} multiply-adds"
        out[name, "FLOP/s"] = (e["flopsPerSecond"], e["time"])
    if "fusion" in calibration:
        fusion = calibration["fusion"]
        out["fused over unfused", "ratio"] = (fusion["speedupRatio"], fusion["fusedTime"])
    return out


def with_unit(value, unit):
    if unit == "ratio":
        return f"{value:.3f}"
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= factor:
            return f"{value / factor:.2f} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def row_of(name, unit, runs):
    rates = [rate for rate, _ in runs]
    median = statistics.median(rates)
    between = (max(rates) - min(rates)) / median
    claimed = max(time.get("relativeSpread", 0) for _, time in runs)
    stable = sum(time.get("stable", False) for _, time in runs)
    return (f"| {name} | {with_unit(median, unit)} | {between:.1%} | {claimed:.1%} "
            f"| {stable} of {len(runs)} |"), between


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mode", default="standard")
    parser.add_argument("--output")
    parser.add_argument("--input")
    options = parser.parse_args()
    if options.input:
        with open(options.input, encoding="utf-8") as file:
            calibrations = [json.loads(line) for line in file]
    else:
        calibrations = [calibration_of(options.mode) for _ in range(options.runs)]
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(c) + "\n" for c in calibrations)
    figures = [figures_of(c) for c in calibrations]
    print("| figure | median of runs | between runs | widest claimed | stable |")
    print("| --- | ---: | ---: | ---: | ---: |")
    betweens = []
    for name, unit in dict.fromkeys(key for f in figures for key in f):
        line, between = row_of(name, unit, [f[name, unit] for f in figures if (name, unit) in f])
        betweens.append(between)
        print(line)
    print(f"\n{len(betweens)} figures; spread between runs: median "
          f"{statistics.median(betweens):.1%}, largest {max(betweens):.1%}")
    for number, f in enumerate(figures, start=1):
        stable = sum(time.get("stable", False) for _, time in f.values())
        coverage = calibrations[number - 1]["coverageRatio"]
        print(f"run {number}: {len(f)} figures, {stable} of them stable, {coverage:.1%} of the "
              f"points, {calibrations[number - 1]['durationSeconds']:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
