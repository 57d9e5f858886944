#!/usr/bin/python3
"""Rows of published runs become the requests of memory_rows.yaml, which sextantd answers, and of
step_rows.yaml."""

import copy
import json
import math
import operator
import re
import sys

import grpc
from google.protobuf import json_format

from cells import Row, Undescribed, api, load
from measured_case import LeftOut, MeasuredCase
from megatron_arguments import python_list
from memory_answers import answer, answer_open, plans
from memory_row import says_memory, translate_measured_row, translate_megatron_row
from step_layout import blank_chunks, layers_per_chunk
from step_row import measured_seconds, step_row
from step_sources import RECIPES
from step_study import close_recomputation, leave_open


def row_of(case: dict, rows: dict) -> Row:
    columns = copy.deepcopy(rows[case["from"]]) | case.get("columns", {})
    if "arguments" in case:
        columns["all_args"] |= case["arguments"]
    as_text = {dict: json.dumps, float: repr}
    return {name: as_text.get(type(cell), str)(cell) for name, cell in columns.items()}


def field(message: dict, path: str):
    """None where absent."""
    out = message
    for step in path.split("."):
        fields = enumerate(out) if isinstance(out, list) else (out or {}).items()
        out = {str(name): value for name, value in fields}.get(step)
    return out


def check_fields(request, fields: dict) -> None:
    text = json_format.MessageToJson(request, preserving_proto_field_name=True)
    found = json.loads(re.sub(r'"(\d+)"(?!:)', r"\1", text))  # 64-bit numbers are text
    for path, value in fields.items():
        assert field(found, path) == value, (path, field(found, path), value)


def check_measured(translated, case: dict, server: api.Client) -> None:
    assert isinstance(translated, MeasuredCase), translated
    for name, value in case.get("case", {}).items():
        found = getattr(translated, name)
        if name == "measured":
            found = [[str(definition), size] for definition, size in found]
        assert found == value, (name, found, value)
    check_fields(translated.request, case.get("request", {}))
    check_fields(translated.defaults, case.get("defaults", {}))
    answer(translated, *plans(server, [translated]))
    plan = translated.prediction.plan
    assert plan.parameters.total == case.get("parameters", plan.parameters.total), plan.parameters
    if "calculated" in case:
        calculated = translated.prediction.of(translated.measured[0][0]).expected
        assert calculated == case["calculated"], calculated


def check_open(translated, case: dict, server: api.Client) -> None:
    assert translated.open == case["open"] and translated.figure == case["measured"], translated
    assert len(translated.requests) == len(case["requests"])
    for request, fields in zip(translated.requests, case["requests"]):
        check_fields(request, fields)
    answers = plans(server, [translated])
    assert not any(isinstance(found, grpc.RpcError) for found in answers), answers
    total = answers[0].plan.parameters.total
    assert total == case.get("parameters", total), total
    answer_open(translated, answers)
    assert 0 < translated.low < translated.high, translated


def check_memory_row(case: dict, rows: dict, server: api.Client) -> None:
    translate = translate_megatron_row if case["from"] == "gpt" else translate_measured_row
    translated = translate(row_of(case, rows))
    if "reason" in case:
        assert isinstance(translated, LeftOut), translated
        assert translated.reason == case["reason"], translated.reason
    elif "open" in case:
        check_open(translated, case, server)
    else:
        check_measured(translated, case, server)


def check_step_row(case: dict, rows: dict, _) -> None:
    try:
        found = step_row(row_of(case, rows), case.get("tuning", False))
    except Undescribed as why:
        assert str(why) == case.get("reason"), why
        return
    assert "reason" not in case
    assert len(found.requests) == case.get("requests", len(found.requests)), len(found.requests)
    for path, value in case.get("row", {}).items():
        assert operator.attrgetter(path)(found) == value, path
    check_fields(found.requests[0], case.get("request", {}))
    if "config" in case:
        config = json.loads(found.requests[0].model.hugging_face_config)
        assert case["config"].items() <= config.items(), config


def check_lists() -> None:
    assert python_list("([0]*3+[1]*2)") == [0, 0, 0, 1, 1]
    assert python_list("([1]+[0, 2]) * 2") == [1, 0, 2, 1, 0, 2]
    assert python_list("[]") == []
    for wrong in ("", "3", "[1", "[1]*", "([1]", "[1]]", "[a]", "[1]*999999999"):
        try:
            python_list(wrong)
        except Undescribed:
            continue
        raise AssertionError(wrong)


def check_figures() -> None:
    """96 x 512 x 2048 x 24 x 2304^2 x (1 + 2048 / 13824 + 51200 / (16 x 24 x 2304)) FLOPs
    = 1.2825e16 x (1 + 0.148148 + 0.057870) = 1.54668e16, at 32 x 137e12 a second."""
    assert says_memory({"peak_mem_as_published": "1 GB"}) and says_memory({"oom": "True"})
    assert not says_memory({"oom": "False", "peak_mem_gib": ""})
    row = {"flops_def": "Megatron SC21 eq. (3): 96*B*s*l*h^2*(...)", "tflops_per_gpu": "137",
           "gpus": "32", "global_batch": "512", "seq_len": "2048", "layers": "24",
           "hidden": "2304", "vocab": "51200"}
    assert math.isclose(measured_seconds(row), 3.5280, abs_tol=1e-3)


def check_chunks() -> None:
    assert layers_per_chunk(8, 4) == [2, 2, 2, 2]
    assert layers_per_chunk(6, 4) == [1, 2, 2, 1]  # and two embeddings
    assert layers_per_chunk(5, 3) == [2, 2, 1]
    assert blank_chunks(96, 8) == 12 and blank_chunks(80, 4) == 10
    assert blank_chunks(94, 8) == 12  # 96 with an embedding at either end
    assert blank_chunks(80, 1) == 1


def check_recipes() -> None:
    for rule in RECIPES["rules"]:
        assert rule.get("where") or rule["file"] in RECIPES["files"], rule
        assert rule["set"].keys() <= RECIPES["defaults"].keys(), rule


def check_recomputation(rows: dict) -> None:
    """Megatron recomputes nothing where that fits; where it doesn't, recomputation is open, and the
    request that leaves it open has the interval."""
    for fits in (True, False):
        row = step_row(row_of({"from": "llama"}, rows))
        close_recomputation(row, fits)
        leave_open(row)
        if fits:
            assert len(row.requests) == 1 and not row.opened and row.left_open is None
        else:
            assert len(row.requests) == 2 and row.opened == ["recomputation, some"]
            assert row.requests[0].training.recompute and not row.left_open.training.recompute


def main() -> None:
    check_lists()
    check_figures()
    check_chunks()
    check_recipes()
    check_recomputation(load("step_rows.yaml")["rows"])
    with api.own_server() as server:
        for name, check in (("memory_rows", check_memory_row), ("step_rows", check_step_row)):
            known = load(f"{name}.yaml")
            for number, case in enumerate(known["cases"], 1):
                try:
                    check(case, known["rows"], server)
                except AssertionError as wrong:
                    sys.exit(f"{name}, case {number}, {case}: {wrong}")
            print(f"{len(known['cases'])} of {name} are translated")


main()
