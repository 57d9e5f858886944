"""The service's answers for published runs, in terms of what was measured."""

import dataclasses
import math
from typing import Any, NamedTuple

import grpc

from cells import Row, api
from measured_case import (
    ALL_FIELDS,
    CONTRADICTED,
    DEFAULTS,
    Definition,
    LeftOut,
    MeasuredCase,
    OpenCase,
)
from memory_row import says_memory, translate_measured_row, translate_megatron_row
from tables import grouped

FAR_OFF = 0.10
STATE = ("WEIGHT", "GRADIENT", "MASTER_WEIGHT", "OPTIMIZER_STATE")


def is_calculated(row) -> bool:
    """True for a layer's matrices and activations in a ledger."""
    kind = api.LedgerKind.Name(row.kind).removeprefix("LEDGER_KIND_")
    matrix = kind in STATE and len(row.dimensions) > 1
    return bool(row.layer_kind) and (matrix or kind == "ACTIVATION")


@dataclasses.dataclass
class Prediction:
    """The answer to one request, for one of its stages."""

    plan: Any
    stage: int

    @property
    def memory(self):
        return self.plan.memory.stages[self.stage]

    def of(self, definition: Definition):
        """An Interval in bytes; its ends are equal where a source's own formula was computed."""
        if definition == Definition.CALCULATED:
            size = sum(row.size_bytes for row in self.memory.ledger if is_calculated(row))
            return api.Interval(low=size, expected=size, high=size)
        return getattr(self.memory, f"{definition}_bytes")


class Answers(NamedTuple):
    answered: list[MeasuredCase]
    open: list[OpenCase]
    left_out: list[LeftOut]


def questions(case: MeasuredCase | OpenCase) -> list:
    """The requests that are sent."""
    for request in case.requests:
        request.options.view = api.PLAN_VIEW_FULL
        if isinstance(case, MeasuredCase) and case.measured:
            calculated = case.measured[0][0] == Definition.CALCULATED
            request.options.include_ledger = calculated or case.between_steps is not None
    return case.requests


def plans(server: api.Client, cases: list) -> list:
    """The answers to all questions of the cases, in order."""
    requests = [request for case in cases for request in questions(case)]
    return server.answers([("PlanningService/PlanRun", request) for request in requests])


def prediction_of(response, stage: int | None = None) -> Prediction:
    plan = response.plan
    return Prediction(plan, plan.memory.peak_stage if stage is None else stage)


def answer(run: MeasuredCase, response, defaults) -> None:
    run.predictions[ALL_FIELDS] = prediction_of(response, run.stage)
    if isinstance(defaults, grpc.RpcError):
        run.defaults_refused = defaults.details()
    else:
        run.predictions[DEFAULTS] = prediction_of(defaults, run.stage)


def answer_open(run: OpenCase, responses: list) -> None:
    predictions = [prediction_of(response) for response in responses]
    intervals = [p.of(definition) for p in predictions for definition in run.definitions]
    run.low = math.floor(min(interval.low for interval in intervals) + 0.5)
    run.high = math.floor(max(interval.high for interval in intervals) + 0.5)
    run.may_not_fit = any(p.plan.verdict != api.VERDICT_FITS for p in predictions)


def mark_contradicted(runs: list[MeasuredCase]) -> None:
    """Marks runs whose figures contradict those of the same question.

    Runs of a source on the same hardware that are the same question, so that the service's answer
    is the same to the byte, ought to have the same memory. Where the largest figure of such a group
    is more than 10 % above the smallest, something else differs that rows don't say: mostly a
    release of the framework. All runs of the group get CONTRADICTED as a trait and as an
    assumption. The service's answer plays no part beyond forming groups.
    """

    def question(run: MeasuredCase) -> tuple:
        # Sequences of other lengths, cut by context parallelism, may well have the same answer.
        length = run.request.training.sequence_length
        size = run.prediction.of(Definition.ALLOCATED).expected
        return run.source, run.hardware, length, run.prediction.stage, size

    asked = [run for run in runs if run.measured and run.hardware]
    for group in grouped(asked, question).values():
        figures = [run.figure for run in group]
        if max(figures) > (1 + FAR_OFF) * min(figures):
            for run in group:
                run.traits.add(CONTRADICTED)
                run.assumptions.append(CONTRADICTED)


def answers_of(server: api.Client, megatron_ci: list[Row], measured_runs: list[Row]) -> Answers:
    """Answers for rows of megatron_ci_memory.csv and rows of measured_runs.csv about memory.

    A run that the service refuses is left out with its words.
    """
    cases = [translate_megatron_row(row) for row in megatron_ci]
    cases += [translate_measured_row(row) for row in measured_runs if says_memory(row)]
    out = Answers([], [], [case for case in cases if isinstance(case, LeftOut)])
    asked = [case for case in cases if not isinstance(case, LeftOut)]
    responses = iter(plans(server, asked))
    for case in asked:
        own = [next(responses) for _ in questions(case)]
        needed = own if isinstance(case, OpenCase) else own[:1]
        refused = next((found for found in needed if isinstance(found, grpc.RpcError)), None)
        if refused is not None:
            reason = f"the service refuses it: {refused.details()}"
            out.left_out.append(LeftOut(reason, case.source, case.id))
        elif isinstance(case, OpenCase):
            answer_open(case, own)
            out.open.append(case)
        else:
            answer(case, *own)
            out.answered.append(case)
    mark_contradicted(out.answered)
    return out
