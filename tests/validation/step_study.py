"""Rows with their predictions, which every table of the report is made of."""

import copy
import math
import re
from dataclasses import dataclass
from typing import Callable

from google.protobuf import json_format

from cells import Row, api
from step_row import BASELINE_MFU, StepRow, step_rows
from step_sources import CONSTANTS, holds
from tables import grouped

GENERIC = "generic"
BATCH = 256  # the most runs of a BatchPlanRuns


@dataclass
class Prediction:
    """Seconds of a step, as validation_fits answers."""

    expected: float
    low: float  # of the 80 % interval
    high: float
    centre: float  # of it: the expected time of the answer that has it
    span_low: float  # of the expected times of the choices; expected where nothing is open
    span_high: float
    parts: list  # (name, seconds) of the first choice

    def error(self, measured: float) -> float:
        """Of the expected time: predicted over measured, less 1."""
        return self.expected / measured - 1

    def span_error(self, measured: float) -> float:
        """0 within the span, else of its nearer end."""
        return min(max(measured, self.span_low), self.span_high) / measured - 1

    def covers(self, measured: float) -> bool:
        return self.low <= measured <= self.high

    def position(self, measured: float) -> float:
        """Where it is in the interval, of logarithms: -1 at the low end, 0 at the centre, 1 at the
        high."""
        end = self.low if measured < self.centre else self.high
        return math.log(measured / self.centre) / abs(math.log(end / self.centre))


@dataclass(eq=False)
class Case:
    """A row that the service answers."""

    row: StepRow
    predicted: Prediction  # with the stacks' own constants
    # Other estimates of the same answer, in seconds: 6 N + 12 L H Q T at 45 % of the peak; all that
    # is computed at the datasheet's peak; 6 N + 12 L H Q T at the peak.
    constant_mfu: float = 0
    roofline: float = 0
    # With constants of the folds that lack the case's family; with all at their neutral values; of
    # an unknown stack; None where the service refuses.
    left_out: Prediction | None = None
    neutral: Prediction | None = None
    generic: Prediction | None = None
    near_step: float | None = None  # generic, times one measured step

    @property
    def ideal(self) -> float:
        return BASELINE_MFU * self.constant_mfu

    @property
    def request(self) -> bytes:
        return self.row.requests[0].SerializeToString(deterministic=True)

    def error(self) -> float:
        return self.predicted.error(self.row.measured)


@dataclass
class Results:
    """Everything the report is made of."""

    cases: list[Case]
    left_out: list[tuple]  # (source, id, reason)
    tuned: list[Case]  # fine-tuning, in no other table
    # "dense_folds" and "expert_folds" are their numbers, "ranges" by constant: on all rows, least
    # and most of the folds, families.
    folds: dict


def question(row: StepRow) -> dict:
    """A row as validation_fits reads it."""
    def as_json(request):
        return json_format.MessageToDict(request, preserving_proto_field_name=True)
    return {"family": row.family, "model": row.model, "experts": row.experts,
            "measured": row.measured, "recompute_blank": row.recompute_blank,
            "point_share": row.point_share, "low_share": row.low_share, "scales": row.scales,
            "stack": f"{row.stack}/{row.accelerator}/{row.format}",
            "requests": [as_json(request) for request in row.requests],
            "left_open": row.left_open and as_json(row.left_open),
            "constants": [index for index, constant in enumerate(CONSTANTS)
                          if holds(constant["where"], row)]}


def close_recomputation(row: StepRow, fits: bool) -> None:
    """Where recomputation isn't published, whether there is none is asked by memory: `fits` without
    any. A stack that recomputes nothing by default is taken to do so where that fits; else
    recomputation is open. What does not fit is not the fastest possible choice."""
    if not row.recompute_blank:
        return
    if fits and row.likely_none:
        row.requests = row.requests[:len(row.requests) // 2]
        return
    row.opened.append("recomputation" if fits else "recomputation, some")
    if not fits:
        row.low_share = row.point_share


def leave_open(row: StepRow) -> None:
    """Sets left_open where the service can leave open what is open."""
    known = {"interleaving", "recomputation", "recomputation, some"}
    # Uneven chunks have to be given.
    uneven = row.requests[0].layout.parallel.layers_per_chunk
    if not row.opened or set(row.opened) - known or uneven:
        return
    request = copy.deepcopy(row.requests[0])
    if row.recompute_blank and len(row.requests) > 1:
        request.training.ClearField("recompute")
    if row.opened[0] == "interleaving":
        request.layout.parallel.ClearField("virtual_stage_count")
    row.left_open = request


def predictions(rows: list[StepRow], fits) -> list:
    """By the stacks' own constants: a Prediction, or the service's words where it refuses."""
    answers = fits.ask("step_predictions", rows=[question(row) for row in rows])
    return [answer["error"] if "error" in answer else Prediction(**answer) for answer in answers]


def planned(server, requests: list) -> list:
    """A PlannedRun for each request, in order."""
    out = []
    for first in range(0, len(requests), BATCH):
        batch = api.BatchPlanRunsRequest(runs=requests[first:first + BATCH])
        out += server.call("PlanningService/BatchPlanRuns", batch).runs
    return out


def cases_of(table: list[Row], fits, server, tuning: bool = False):
    """All rows of `table`, asked with their stacks' own constants; and those that are left out."""
    rows, left_out = step_rows(table, tuning)
    asked = []
    for row, run in zip(rows, planned(server, [row.requests[0] for row in rows])):
        if run.HasField("status"):
            why = re.sub(r"runs\[\d+\]\.", "", run.status.message)
            left_out.append((row.source, row.id, f"refused: {why}"))
            continue
        close_recomputation(row, run.plan.verdict != api.VERDICT_DOES_NOT_FIT)
        leave_open(row)
        asked.append((row, run.plan))
    cases = []
    for (row, plan), predicted in zip(asked, predictions([row for row, _ in asked], fits)):
        if isinstance(predicted, str):
            left_out.append((row.source, row.id, f"refused: {predicted}"))
            continue
        # Of a single request, validation_fits answers what the server does.
        if len(row.requests) == 1 and not row.scales:
            assert plan.step_time.seconds.expected == predicted.expected, row.id
        seconds = {estimate.kind: estimate.duration_seconds.expected for estimate in plan.estimates}
        cases.append(Case(row, predicted, seconds.get(api.ESTIMATE_KIND_TEXTBOOK, 0),
                          seconds.get(api.ESTIMATE_KIND_LOWER_BOUND, 0)))
    return cases, left_out


def generic_row(row: StepRow) -> StepRow:
    """The same of an unknown stack."""
    out = copy.copy(row)
    out.stack = GENERIC
    out.requests, out.left_open = copy.deepcopy((row.requests, row.left_open))
    for request in out.requests + [out.left_open] * (out.left_open is not None):
        request.layout.software.name = GENERIC
        request.layout.software.ClearField("attention_time_ratio")
    return out


def set_folds(cases: list[Case], fits) -> dict:
    """Sets what the folds predict, and gives Results.folds. Minutes."""
    answer = fits.ask("step_folds", rows=[question(case.row) for case in cases],
                      constants=CONSTANTS)
    for case, left_out, neutral in zip(cases, answer["left_out"], answer["neutral"]):
        case.left_out = left_out and Prediction(**left_out)
        case.neutral = neutral and Prediction(**neutral)
    return answer


def results_of(table: list[Row], fits, server) -> Results:
    """Asks everything."""
    cases, left_out = cases_of(table, fits, server)
    tuned, _ = cases_of(table, fits, server, tuning=True)
    folds = set_folds(cases, fits)
    for case, found in zip(cases, predictions([generic_row(case.row) for case in cases], fits)):
        case.generic = None if isinstance(found, str) else found
    return Results(cases, left_out, tuned, folds)


def groups_by(cases: list[Case], name: Callable) -> dict[str, list[Case]]:
    """In alphabetical order."""
    return dict(sorted(grouped(cases, name).items()))
