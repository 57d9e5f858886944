#!/usr/bin/python3
"""Rows of published runs with a step time become the requests of step_rows.yaml."""

import json
import math
import operator
import sys

from cells import Undescribed, load
from memory_rows_test import check_fields
from step_layout import blank_chunks, layers_per_chunk
from step_row import measured_seconds, step_row
from step_sources import RECIPES
from step_study import close_recomputation, leave_open


def row_of(case, rows):
    columns = rows[case["from"]] | case.get("columns", {})
    return {name: str(cell) for name, cell in columns.items()}


def check_case(case, rows):
    try:
        found = step_row(row_of(case, rows), case.get("tuning", False))
    except Undescribed as why:
        assert str(why) == case.get("reason"), why
        return
    assert "reason" not in case
    if "requests" in case:
        assert len(found.requests) == case["requests"], len(found.requests)
    for path, value in case.get("row", {}).items():
        assert operator.attrgetter(path)(found) == value, path
    check_fields(found.requests[0], case.get("request", {}))
    if "config" in case:
        config = json.loads(found.requests[0].model.hugging_face_config)
        assert case["config"].items() <= config.items(), config


def check_measured():
    """96 x 512 x 2048 x 24 x 2304^2 x (1 + 2048 / 13824 + 51200 / (16 x 24 x 2304)) FLOPs
    = 1.2825e16 x (1 + 0.148148 + 0.057870) = 1.54668e16, at 32 x 137e12 a second."""
    row = {"flops_def": "Megatron SC21 eq. (3): 96*B*s*l*h^2*(...)", "tflops_per_gpu": "137",
           "gpus": "32", "global_batch": "512", "seq_len": "2048", "layers": "24",
           "hidden": "2304", "vocab": "51200"}
    assert math.isclose(measured_seconds(row), 3.5280, abs_tol=1e-3)


def check_chunks():
    assert layers_per_chunk(8, 4) == [2, 2, 2, 2]
    assert layers_per_chunk(6, 4) == [1, 2, 2, 1]  # and two embeddings
    assert layers_per_chunk(5, 3) == [2, 2, 1]
    assert blank_chunks(96, 8) == 12 and blank_chunks(80, 4) == 10
    assert blank_chunks(94, 8) == 12  # 96 with an embedding at either end
    assert blank_chunks(80, 1) == 1


def check_recipes():
    for rule in RECIPES["rules"]:
        assert rule.get("where") or rule["file"] in RECIPES["files"], rule
        assert rule["set"].keys() <= RECIPES["defaults"].keys(), rule


def check_recomputation(rows):
    """Megatron recomputes nothing where that fits; where it doesn't, recomputation is open, and the
    request that leaves it open has the interval."""
    row = step_row(row_of({"from": "llama"}, rows))
    close_recomputation(row, fits=True)
    leave_open(row)
    assert len(row.requests) == 1 and not row.opened and row.left_open is None
    row = step_row(row_of({"from": "llama"}, rows))
    close_recomputation(row, fits=False)
    leave_open(row)
    assert len(row.requests) == 2 and row.opened == ["recomputation, some"]
    assert row.requests[0].training.recompute and not row.left_open.training.recompute


def main():
    check_measured()
    check_chunks()
    check_recipes()
    known = load("step_rows.yaml")
    check_recomputation(known["rows"])
    for number, case in enumerate(known["cases"], 1):
        try:
            check_case(case, known["rows"])
        except AssertionError as wrong:
            sys.exit(f"case {number}, {case}: {wrong}")
    print(f"{len(known['cases'])} rows are translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
