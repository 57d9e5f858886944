"""A row of measured_runs.csv that says something about memory."""

from collections.abc import Callable
from typing import NamedTuple

from bloom_row import bloom_case, open_bloom_case
from cells import Row, Undescribed
from korthikanti_row import korthikanti_case
from litgpt_row import litgpt_case, open_litgpt_case
from measured_case import LeftOut, MeasuredCase, OpenCase
from nanotron_row import open_internevo_case, open_nanotron_case
from run_request import defaults_of
from simumax_row import simumax_case
from torchtitan_row import open_torchtitan_case, torchtitan_case


class SourceRule(NamedTuple):
    name: str
    case: Callable[[Row], MeasuredCase] | None = None  # None: `reason` for all rows
    open_case: Callable[[Row], OpenCase] | None = None  # of rows that `case` refuses
    reason: str = ""
    # Fields that the table marks as not printed in the row's place, but that the source prints
    # elsewhere, where the translator read them.
    read_elsewhere: tuple[str, ...] = ()


SOURCES = {
    "MooreThreads/SimuMax": SourceRule(
        "SimuMax B200",
        simumax_case,
        read_elsewhere=(
            "recompute",
            "sequence_parallel",
            "zero_stage",
            "micro_batch",
            "global_batch",
            "seq_len",
        ),
    ),
    "bigscience-workshop/bigscience": SourceRule("BLOOM trials", bloom_case, open_bloom_case),
    "calculon-ai/calculon": SourceRule(
        "Korthikanti 2022, figure 1",
        korthikanti_case,
        read_elsewhere=("vocab", "zero_stage", "dp_strategy"),
    ),
    "pytorch/torchtitan": SourceRule("torchtitan", torchtitan_case, open_torchtitan_case),
    "Lightning-AI/litgpt": SourceRule("litgpt", litgpt_case, open_litgpt_case),
    "pytorch/ao": SourceRule("torchao", None, open_torchtitan_case, "no measured memory"),
    "InternLM/InternEvo": SourceRule(
        "InternEvo", None, open_internevo_case, "sequence length not published"
    ),
    "huggingface/nanotron": SourceRule(
        "nanotron", None, open_nanotron_case, "shape of the layers not published"
    ),
    "AMD-AGI/Primus": SourceRule(
        "Primus", reason="sequence length, batch and unit of the figures not published"
    ),
}


def says_memory(row: Row) -> bool:
    """True where a row has a figure of memory or reports a job that ran out of it."""
    columns = ("peak_mem_as_published", "peak_mem_gib")
    return any(row.get(column) for column in columns) or row.get("oom") == "True"


def translate_measured_row(row: Row) -> MeasuredCase | OpenCase | LeftOut:
    """`row`, one that says_memory(), by the rules of its source."""
    rule = SOURCES.get(row.get("source_repo", ""))
    if rule is None:
        rule = SourceRule(row.get("source", ""), reason="no rule for its source")
    out = translated(row, rule)
    out.source, out.id = rule.name, row.get("id", "")
    return out


def translated(row: Row, rule: SourceRule) -> MeasuredCase | OpenCase | LeftOut:
    reason = rule.reason
    if rule.case is not None:
        try:
            return completed(rule.case(row), row, rule)
        except Undescribed as undescribed:
            reason = str(undescribed)
    if rule.open_case is not None:
        try:
            return rule.open_case(row)
        except Undescribed:
            pass
    return LeftOut(reason)


def completed(case: MeasuredCase, row: Row, rule: SourceRule) -> MeasuredCase:
    """`case` with what translators leave to their caller."""
    inferred = [field for field in row.get("inferred_fields", "").split("; ") if field]
    case.assumptions += [field for field in inferred if field not in rule.read_elsewhere]
    case.defaults = defaults_of(case.request)
    return case
