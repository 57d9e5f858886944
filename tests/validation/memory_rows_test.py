#!/usr/bin/python3
"""Rows of published runs become the requests of memory_rows.yaml, which sextantd answers."""

import copy
import json
import sys

import grpc
from google.protobuf import json_format

from cells import Row, api, load
from measured_case import LeftOut, MeasuredCase
from measured_row import says_memory, translate_measured_row
from megatron_arguments import Undescribed, python_list
from megatron_row import translate_megatron_row
from memory_answers import answer, answer_open, plans


def row_of(case: dict, rows: dict) -> Row:
    columns = copy.deepcopy(rows[case["row"]]) | case.get("columns", {})
    if "arguments" in case:
        columns["all_args"] |= case["arguments"]
    as_text = {dict: json.dumps, str: str, int: str, float: repr}
    return {name: as_text[type(cell)](cell) for name, cell in columns.items()}


def normal(value):
    """`value` with the API's 64-bit numbers, which JSON has as text, as numbers."""
    if isinstance(value, list):
        return [normal(entry) for entry in value]
    if isinstance(value, dict):
        return {name: normal(entry) for name, entry in value.items()}
    return int(value) if isinstance(value, str) and value.isdigit() else value


def field(message: dict, path: str):
    """None where absent."""
    out = message
    for step in path.split("."):
        if isinstance(out, list):
            out = out[int(step)] if int(step) < len(out) else None
        elif out is not None:
            out = out.get(step)
    return out


def check_fields(request, fields: dict) -> None:
    found = normal(json_format.MessageToDict(request, preserving_proto_field_name=True))
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
    assert translated.open == case["open"] and translated.measured == case["measured"], translated
    assert len(translated.requests) == len(case["requests"])
    for request, fields in zip(translated.requests, case["requests"]):
        check_fields(request, fields)
    answers = plans(server, [translated])
    assert not any(isinstance(found, grpc.RpcError) for found in answers), answers
    total = answers[0].plan.parameters.total
    assert total == case.get("parameters", total), total
    answer_open(translated, answers)
    assert 0 < translated.low < translated.high, translated


def check_case(case: dict, rows: dict, server: api.Client) -> None:
    row = row_of(case, rows)
    translate = translate_megatron_row if case["row"] == "gpt" else translate_measured_row
    translated = translate(row)
    if "reason" in case:
        assert isinstance(translated, LeftOut), translated
        assert translated.reason == case["reason"], translated.reason
    elif "open" in case:
        check_open(translated, case, server)
    else:
        check_measured(translated, case, server)


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
    assert says_memory({"peak_mem_as_published": "1 GB"}) and says_memory({"oom": "True"})
    assert not says_memory({"oom": "False", "peak_mem_gib": ""})


def main() -> int:
    check_lists()
    check_figures()
    known = load("memory_rows.yaml")
    with api.own_server() as server:
        for number, case in enumerate(known["cases"], 1):
            try:
                check_case(case, known["rows"], server)
            except AssertionError as wrong:
                sys.exit(f"case {number}, {case}: {wrong}")
    print(f"{len(known['cases'])} rows are translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
