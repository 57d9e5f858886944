"""The service's answers for published runs, in terms of what was measured."""

import dataclasses
import math
from typing import Any, NamedTuple

from cells import Row
from measured_case import CONTRADICTED, Definition, LeftOut, MeasuredCase, OpenCase
from measured_row import says_memory, translate_measured_row
from megatron_row import translate_megatron_row
from sextant_api import Refused, Sextantd, api
from tables import grouped

FAR_OFF = 0.10
ALL_FIELDS = "all fields given"
DEFAULTS = "defaults of the framework"
REQUESTS = (ALL_FIELDS, DEFAULTS)

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


@dataclasses.dataclass
class Answer:
    run: MeasuredCase
    # By ALL_FIELDS and DEFAULTS; without the latter where the service refuses that request.
    predictions: dict[str, Prediction]
    defaults_refused: str = ""  # the service's words then

    @property
    def prediction(self) -> Prediction:
        return self.predictions[ALL_FIELDS]


class OpenAnswer(NamedTuple):
    """The range of the intervals that an open case's requests are answered with, in bytes."""

    run: OpenCase
    low: int
    high: int
    may_not_fit: bool  # some choice's verdict isn't FITS

    @property
    def inside(self) -> bool:
        """True where the measured figure lies in the range; of a job that ran out, may_not_fit."""
        if self.run.measured is None:
            return self.may_not_fit
        return self.low <= self.run.measured <= self.high


class Answers(NamedTuple):
    answered: list[Answer]
    open: list[OpenAnswer]
    left_out: list[LeftOut]


def questions(case: MeasuredCase | OpenCase) -> list:
    """The requests that are sent."""
    out = []
    for request in case.requests:
        copy = api.PlanRunRequest()
        copy.CopyFrom(request)
        copy.options.view = api.PLAN_VIEW_FULL
        if isinstance(case, MeasuredCase) and case.measured:
            copy.options.include_ledger = case.measured[0][0] == Definition.CALCULATED
        out.append(copy)
    return out


def prediction_of(response, stage: int | None = None) -> Prediction:
    plan = response.plan
    return Prediction(plan, plan.memory.peak_stage if stage is None else stage)


def answer_of(run: MeasuredCase, response, defaults) -> Answer:
    out = Answer(run, {ALL_FIELDS: prediction_of(response, run.stage)})
    if isinstance(defaults, Refused):
        out.defaults_refused = str(defaults)
    else:
        out.predictions[DEFAULTS] = prediction_of(defaults, run.stage)
    return out


def open_answer_of(run: OpenCase, responses: list) -> OpenAnswer:
    predictions = [prediction_of(response) for response in responses]
    intervals = [p.of(definition) for p in predictions for definition in run.definitions]
    return OpenAnswer(
        run,
        math.floor(min(interval.low for interval in intervals) + 0.5),
        math.floor(max(interval.high for interval in intervals) + 0.5),
        any(p.plan.verdict != api.VERDICT_FITS for p in predictions),
    )


def mark_contradicted(answers: list[Answer]) -> None:
    """Marks runs whose figures contradict those of the same question.

    Runs of a source on the same hardware that are the same question, so that the service's answer
    is the same to the byte, ought to have the same memory. Where the largest figure of such a group
    is more than 10 % above the smallest, something else differs that rows don't say: mostly a
    release of the framework. All runs of the group get CONTRADICTED as a trait and as an
    assumption. The service's answer plays no part beyond forming groups.
    """

    def question(answer: Answer) -> tuple:
        # Sequences of other lengths, cut by context parallelism, may well have the same answer.
        length = answer.run.request.training.sequence_length
        size = answer.prediction.of(Definition.ALLOCATED).expected
        return answer.run.source, answer.run.hardware, length, answer.prediction.stage, size

    asked = [answer for answer in answers if answer.run.measured and answer.run.hardware]
    for group in grouped(asked, question).values():
        figures = [answer.run.figure for answer in group]
        if max(figures) > (1 + FAR_OFF) * min(figures):
            for answer in group:
                answer.run.traits.add(CONTRADICTED)
                answer.run.assumptions.append(CONTRADICTED)


def answers_of(server: Sextantd, megatron_ci: list[Row], measured_runs: list[Row]) -> Answers:
    """Answers for rows of megatron_ci_memory.csv and rows of measured_runs.csv about memory.

    A run that the service refuses is left out with its words.
    """
    cases = [translate_megatron_row(row) for row in megatron_ci]
    cases += [translate_measured_row(row) for row in measured_runs if says_memory(row)]
    out = Answers([], [], [case for case in cases if isinstance(case, LeftOut)])
    asked = [case for case in cases if not isinstance(case, LeftOut)]
    responses = iter(server.plans([q for case in asked for q in questions(case)]))
    for case in asked:
        own = [next(responses) for _ in questions(case)]
        needed = own if isinstance(case, OpenCase) else own[:1]
        refused = next((answer for answer in needed if isinstance(answer, Refused)), None)
        if refused is not None:
            reason = f"the service refuses it: {refused}"
            out.left_out.append(LeftOut(reason, case.source, case.id))
        elif isinstance(case, OpenCase):
            out.open.append(open_answer_of(case, own))
        else:
            out.answered.append(answer_of(case, *own))
    mark_contradicted(out.answered)
    return out
