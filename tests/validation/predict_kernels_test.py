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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))

import simulated_calibration as simulated  # noqa: E402
from shapes import attention_shapes, unseen_matmuls  # noqa: E402

PROGRAM = os.path.join(ROOT, "tests", "validation", "predict_kernels.py")
TYPES = {"bf16": "DATA_TYPE_BF16", "fp8": "DATA_TYPE_FP8_E4M3"}


def run(calibration, rows, columns=None):
    with tempfile.TemporaryDirectory() as folder:
        calibration_path = os.path.join(folder, "calibration.json")
        table_path = os.path.join(folder, "table.csv")
        with open(calibration_path, "w", encoding="utf-8") as file:
            file.write(calibration if isinstance(calibration, str) else json.dumps(calibration))
        with open(table_path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns or list(rows[0]))
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


def median_error(rows):
    return statistics.median(abs(float(r["predicted_seconds"]) / float(r["seconds"]) - 1)
                             for r in rows if r["seen"] == "0")


def check_matmuls():
    rows = [matmul_row(dtype, shape) for dtype in TYPES for shape in unseen_matmuls()]
    rows.append(matmul_row("bf16", (4096, 4096, 4096)))
    out = predictions(simulated.calibration("full"), rows)
    assert [row["seen"] for row in out] == ["0"] * (len(out) - 1) + ["1"]
    for dtype in TYPES:
        error = median_error([row for row in out if row["dtype"] == dtype])
        assert error < 0.02, (dtype, error)
    assert {row["source"].split()[0] for row in out} == {"measured_supplied"}
    for row in out:
        assert float(row["low_seconds"]) <= float(row["predicted_seconds"])
        assert float(row["predicted_seconds"]) <= float(row["high_seconds"])
    # The predictions follow the calibration, not a table that the program brings along.
    slow = predictions(simulated.calibration("full", slowness=2), rows)
    for row, twice in zip(out, slow):
        ratio = float(twice["predicted_seconds"]) / float(row["predicted_seconds"])
        assert abs(ratio - 2) < 0.02, (row, twice)


def check_attention():
    rows = []
    for shape in attention_shapes():
        if not shape["causal"] or shape["head_dim"] != 128:
            continue
        for direction in ("forward", "backward"):
            seconds = simulated.attention_law(shape["batch"], shape["seq_len"], shape["heads"], 128,
                                         direction == "backward")
            rows.append({"dtype": "bf16", "framework": "simulated", "kernel": "flash",
                         "pass": direction, **shape, "seconds": seconds})
    out = predictions(simulated.calibration("full"), rows)
    for direction in ("forward", "backward"):
        error = median_error([row for row in out if row["pass"] == direction])
        assert error < 0.05, (direction, error)
    assert {(row["kind"], row["kernel"]) for row in out} == {("attention", "flash")}
    assert {row["source"].split()[0] for row in out} == {"measured_supplied"}


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


def main():
    check_matmuls()
    check_attention()
    check_faults()
    return 0


if __name__ == "__main__":
    sys.exit(main())
