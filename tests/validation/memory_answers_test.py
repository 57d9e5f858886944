#!/usr/bin/python3
"""The statistics and tables of docs/accuracy_memory.md, by hand on a few answers."""

import os
import sys

import memory_answers as ma
import memory_tables
from cells import ROOT, api, published_bytes, read_csv, whole
from error_summary import ErrorSummary, quantile, summary_of
from measured_case import CONTRADICTED, SELF_CONTRADICTING, Definition, LeftOut, MeasuredCase
from memory_accuracy import all_tables, totals
from memory_answers import ALL_FIELDS, Answers
from memory_tables import coverage_table, figures_of
from run_request import defaults_of, request_on, set_sizes

GOLDEN = os.path.join(ROOT, "tests", "golden")
TABLES = ("megatron_ci_memory", "measured_memory")


def answer_with(name: str, measured: int, predicted: float, **run) -> MeasuredCase:
    """Of one stage; reserved is 1 and the process 2 bytes more than allocated."""
    figures = [(Definition.ALLOCATED, measured)] if measured else []
    case = MeasuredCase(request_on("h100-sxm"), figures, "", "h100", "a source", name)
    vars(case).update(run)
    stage = {
        f"{definition}_bytes": {"low": size - 10, "expected": size, "high": size + 10}
        for definition, size in zip(Definition, (predicted, predicted + 1, predicted + 2))
    }
    plan = api.Plan(memory={"stages": [stage]}, verdict="VERDICT_FITS")
    case.predictions = {ALL_FIELDS: ma.Prediction(plan, 0)}
    return case


def check_summaries() -> None:
    # Medians are of -0.04 and 0.02, and of 0.04 and 0.10.
    want = ErrorSummary(4, -0.01, -0.30, 0.10, 0.07, 0.30, 0.30, 0.25, 0.75, 0.75)
    assert all(abs(a - b) < 1e-12 for a, b in zip(summary_of([0.10, -0.30, 0.02, -0.04]), want))
    assert summary_of([]).count == 0
    assert summary_of([-0.5])[:4] == (1, -0.5, -0.5, -0.5)
    # Nearest rank: of ten, the ninth has nine tenths at or below it.
    ten = [float(i) for i in range(1, 11)]
    assert summary_of(ten)[2:4] == (1, 9)
    assert [quantile(ten, share) for share in (0.9, 0.1, 0.5, 1)] == [9, 1, 5.5, 10]


def check_cells() -> None:
    sizes = {"17.43 GB": 17_430_000_000, "75.9 GiB": 81_497_004_442, "12MB": 12_000_000}
    sizes |= dict.fromkeys(("OOM", "GB", "", "1 TB", "261.58", "1.2.3 GB"))
    for text, size in sizes.items():
        assert published_bytes(text) == size, text
    assert [whole({"a": cell}, "a") for cell in ("4.0", "4.5", "")] == [4, None, None]
    assert whole({}, "a") is None and whole({}, "a", 1) == 1


def check_predictions() -> None:
    answer = answer_with("a", 100, 110)
    assert answer.prediction.of(Definition.RESERVED).low == 101
    answer.measured.append((Definition.PROCESS, 224))
    errors = [figure.error for figure in figures_of([answer], ALL_FIELDS)]
    assert abs(errors[0] - 0.1) < 1e-12 and errors[1] == -0.5
    for measured, may_not_fit, inside in ((90, False, True), (89, True, False), (None, True, True)):
        run = ma.OpenCase("", [], [], measured, "", "", 90, 110, may_not_fit)
        assert run.inside == inside, measured


def check_contradictions() -> None:
    """111 is more than 10 % above 100, 110 is not; e and f are other ma.questions.

    Of g and h, with equal figures, only g shards its weights; k and l both do.
    """
    sizes = {"a": (100, 50), "b": (111, 50), "c": (100, 60), "d": (110, 60), "e": (300, 50),
             "f": (400, 50), "g": (70, 1), "h": (70, 2), "k": (80, 3), "l": (80, 4)}
    answers = [answer_with(name, *pair) for name, pair in sizes.items()]
    answers[4].hardware = "a100"
    answers[5].request.training.sequence_length = 9
    for sharded in (6, 8, 9):
        answers[sharded].request.layout.sharding.zero_stage = api.ZERO_STAGE_PARAMETERS
    answers[7].request.layout.sharding.zero_stage = api.ZERO_STAGE_NONE
    ma.mark_contradicted(answers)
    marked = [a.id for a in answers if CONTRADICTED in a.traits]
    assert marked == ["a", "b"] == [a.id for a in answers if not a.fully_known]
    left_out = [LeftOut(SELF_CONTRADICTING, "a source", "i"), LeftOut("another", "a source", "j")]
    found = memory_tables.contradiction_table(Answers(answers, [], left_out))
    names = [row[2] for row in found.rows]
    assert names == ["a", "b", "g", "h", "i"], names


def check_neighbours() -> None:
    ran_out = answer_with("ran out", 0, 90, ran_out=True)
    two_off, one_off = answer_with("two off", 50, 89), answer_with("one off", 50, 10)
    two_off.request.layout.parallel.tensor_parallel_size = 2
    two_off.request.layout.parallel.pipeline_parallel_size = 2
    one_off.request.layout.micro_batch_size = 2
    others = [
        answer_with("other source", 50, 90, source="another"),
        answer_with("other device", 50, 90, request=request_on("a100-sxm-80")),
        answer_with("ran out too", 0, 90, ran_out=True),
    ]
    answers = [ran_out, two_off, one_off, *others]
    assert memory_tables.nearest_that_fits(ran_out, answers).id == "one off"
    assert memory_tables.nearest_that_fits(ran_out, others) is None
    # 92 over 12, less 1: both ends are of the process.
    found = memory_tables.surprises(answers[:-1])
    assert len(found) == 1 and "+666.67 % from that of one off" in found[0], found


def check_causes() -> None:
    answer = answer_with("a", 100, 100)
    assert figures_of([answer], ALL_FIELDS)[0].cause == "not named"
    answer.traits = {"samples shorter than the maximum", CONTRADICTED}
    assert figures_of([answer], ALL_FIELDS)[0].cause == "contradicted"


def check_coverage() -> None:
    """Intervals go from 95 to 115; ends are inside."""
    figures = {"a": 100, "b": 94, "c": 95, "d": 116}
    answers = [answer_with(name, size, 105) for name, size in figures.items()]
    rows = coverage_table(figures_of(answers, ALL_FIELDS)).rows
    assert [row[3:] for row in rows] == [["4", "50", "25", "25", "", "unproven"]]


def check_small_tables(server: api.Client) -> None:
    """A few rows of each source from end to end."""
    rows = (read_csv(os.path.join(GOLDEN, f"{name}.csv")) for name in TABLES)
    answers = ma.answers_of(server, *rows)
    assert [len(part) for part in answers] == [16, 1, 3]
    found = all_tables(answers)
    tables = {name: table.rows for name, table in found.items()}
    mamba = ["left out", "Megatron-LM CI", ALL_FIELDS, "1", "Mamba layers are not described"]
    assert mamba in tables["reasons"]
    rows = {tuple(row[:4]): row[4:] for row in tables["errors"]}
    known = rows["allocated", "Megatron-LM CI", ALL_FIELDS, "fully known"]
    assert known[0] == "8" and float(known[4]) <= 3
    calculated = rows["calculated", "Korthikanti 2022, figure 1", ALL_FIELDS, "fully known"]
    assert calculated[0] == "1" and float(calculated[5]) <= 0.1
    verdicts = {tuple(row[:3]): row[3:] for row in tables["verdicts"]}
    assert verdicts["BLOOM trials", ALL_FIELDS, "ran"] == ["1", "0", "0"]
    assert verdicts["BLOOM trials", ALL_FIELDS, "ran out of memory"] == ["0", "0", "1"]
    bloom = [row[0].removeprefix("bloom-chronicles-prequel-") for row in tables["out_of_memory"]]
    assert bloom[:2] == ["087", "086"], bloom
    assert [row[1] for row in tables["open"]] == ["litgpt-finetune-table-052"]
    assert "16 rows are asked about, 1 lack a field" in totals(answers, found)
    worst = [abs(float(row[5])) for row in tables["worst"] if row[0] == "all"]
    assert len(worst) == 10 and worst == sorted(worst, reverse=True)


def check_refusals(server: api.Client) -> None:
    """A run whose defaults are refused keeps its figure; one that is refused is left out."""
    request = request_on("h100-sxm", model={"preset": "gpt2"}, layout={"micro_batch_size": 1})
    request.training.sequence_length = 1024
    set_sizes(request, data_parallel=2)
    wrong = defaults_of(request)
    wrong.layout.parallel.tensor_parallel_size = 4
    run = MeasuredCase(request, [(Definition.ALLOCATED, 1)], "", defaults=wrong)
    ma.answer(run, *ma.plans(server, [run]))
    assert list(run.predictions) == [ALL_FIELDS]
    assert "cluster.device_count" in run.defaults_refused, run.defaults_refused


def main() -> int:
    for check in (check_summaries, check_cells, check_predictions, check_contradictions,
                  check_neighbours, check_causes, check_coverage):
        check()
    with api.own_server() as server:
        check_small_tables(server)
        check_refusals(server)
    print("answers, statistics and tables are as by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
