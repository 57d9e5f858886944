#!/usr/bin/python3
"""predict_kernels.py on a simulated calibration: kernels that follow its law are predicted, those
that it has are marked, and what can't be read is reported."""

import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile

from cells import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))

import simulated_calibration as simulated  # noqa: E402
from shapes import attention_shapes, unseen_matmuls  # noqa: E402

PROGRAM = os.path.join(ROOT, "tests", "validation", "predict_kernels.py")
TYPES = {"bf16": "DATA_TYPE_BF16", "fp8": "DATA_TYPE_FP8_E4M3"}


def run(calibration, rows):
    with tempfile.TemporaryDirectory() as folder:
        calibration_path = os.path.join(folder, "calibration.json")
        table_path = os.path.join(folder, "table.csv")
        with open(calibration_path, "w", encoding="utf-8") as file:
            file.write(calibration if isinstance(calibration, str) else json.dumps(calibration))
        with open(table_path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return subprocess.run([PROGRAM, calibration_path, table_path], capture_output=True,
                              text=True, check=False)


def predictions(calibration, rows):
    done = run(calibration, rows)
    assert done.returncode == 0, done.stderr
    out = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(out) == len(rows)
    return out


def matmul_row(dtype, shape):
    m, n, k = shape
    return {"dtype": dtype, "framework": "simulated", "m": m, "n": n, "k": k,
            "seconds": simulated.matmul_law(TYPES[dtype], m, n, k)}


def attention_row(direction, shape):
    seconds = simulated.attention_law(shape["batch"], shape["seq_len"], shape["heads"], 128,
                                      direction == "backward")
    return {"dtype": "bf16", "framework": "simulated", "kernel": "flash", "pass": direction,
            **shape, "seconds": seconds}


def check_errors(rows, column, limit):
    """The median of each kind of unseen rows; all by the calibration, within their intervals."""
    out = predictions(simulated.calibration("full"), rows)
    for kind in {row[column] for row in out}:
        error = statistics.median(abs(float(row["predicted_seconds"]) / float(row["seconds"]) - 1)
                                  for row in out if row[column] == kind and row["seen"] == "0")
        assert error < limit, (kind, error)
    for row in out:
        assert row["source"].startswith("measured_supplied "), row
        assert float(row["low_seconds"]) <= float(row["predicted_seconds"])
        assert float(row["predicted_seconds"]) <= float(row["high_seconds"])
    return out


def check_matmuls():
    rows = [matmul_row(dtype, shape) for dtype in TYPES for shape in unseen_matmuls()]
    rows.append(matmul_row("bf16", (4096, 4096, 4096)))
    out = check_errors(rows, "dtype", 0.02)
    assert [row["seen"] for row in out] == ["0"] * (len(out) - 1) + ["1"]
    # The predictions follow the calibration, not a table that the program brings along.
    slow = predictions(simulated.calibration("full", slowness=2), rows)
    for row, twice in zip(out, slow):
        ratio = float(twice["predicted_seconds"]) / float(row["predicted_seconds"])
        assert abs(ratio - 2) < 0.02, (row, twice)


def check_attention():
    shapes = [shape for shape in attention_shapes() if shape["causal"] and shape["head_dim"] == 128]
    out = check_errors([attention_row(direction, shape) for shape in shapes
                        for direction in ("forward", "backward")], "pass", 0.05)
    assert {(row["kind"], row["kernel"]) for row in out} == {("attention", "flash")}


def check_faults():
    good = simulated.calibration("quick")
    row = matmul_row("bf16", (64, 1024, 1024))
    assert subprocess.run([PROGRAM], capture_output=True, check=False).returncode == 2
    for calibration, rows, word in (
            ("{", [row], "no calibration"), ({}, [row], "schema_version"),
            (good, [{**row, "dtype": "fp3"}], "fp3"), (good, [{**row, "m": "x"}], "row 1: m"),
            (good, [{**row, "seconds": "nan"}], "seconds"),
            (good, [{**row, "seconds": 0}], "seconds"),
            (good, [{"dtype": "bf16", "seq_len": 5, "seconds": 1}], "batch")):
        done = run(calibration, rows)
        assert done.returncode == 1 and word in done.stderr, (word, done.stderr)
        assert not done.stdout


if __name__ == "__main__":
    check_matmuls()
    check_attention()
    check_faults()
