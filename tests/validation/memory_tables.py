"""Tables of docs/accuracy_memory.md about errors of figures."""

import math
import os
from typing import NamedTuple

import yaml

from cells import GIB, ROOT
from error_summary import percent, signed_percent, summary_of
from measured_case import Definition
from megatron_row import SOURCE as MEGATRON
from memory_answers import ALL_FIELDS, REQUESTS, Answer, Prediction
from sextant_api import api
from tables import Table

CLOSE = 0.03
WORST = 10
ENOUGH_FIGURES = 20
ALL, FULLY_KNOWN = "all", "fully known"  # rows

with open(os.path.join(ROOT, "tests/validation/memory_causes.yaml"), encoding="utf-8") as file:
    CAUSES = yaml.safe_load(file)
NOT_NAMED = "not named"

SUMMARY_COLUMNS = [
    "rows",
    "median %",
    "10th percentile %",
    "90th percentile %",
    "median of sizes %",
    "90th percentile of sizes %",
    "within 3 %, % of rows",
    "within 10 %, % of rows",
]


class Figure(NamedTuple):
    """A figure of a run, and the service's answer to one of the run's requests."""

    answer: Answer
    request: str
    definition: Definition
    measured: int

    @property
    def prediction(self) -> Prediction:
        return self.answer.predictions[self.request]

    @property
    def error(self) -> float:
        return self.prediction.error(self.definition, self.measured)

    @property
    def cause(self) -> str:
        for cause in CAUSES:
            held = self.answer.run.traits >= set(cause.get("traits", []))
            if held and str(self.definition) == cause.get("definition", str(self.definition)):
                return cause["cause"]
        return NOT_NAMED


def figures_of(answers: list[Answer], request: str) -> list[Figure]:
    """Every figure of every answer to `request`, in their order."""
    return [
        Figure(answer, request, definition, size)
        for answer in answers
        if request in answer.predictions
        for definition, size in answer.run.measured
    ]


def gibibytes(size: float) -> str:
    return f"{size / GIB:.2f}"


def whole_percent(share: float) -> str:
    return f"{100 * share:.0f}"


def summary_cells(errors: list[float]) -> list[str]:
    summary = summary_of(errors)
    if not errors:
        return ["0", *[""] * 7]
    return [
        str(summary.count),
        signed_percent(summary.median_signed),
        signed_percent(summary.low),
        signed_percent(summary.high),
        percent(summary.median),
        percent(summary.p90),
        whole_percent(summary.within_3),
        whole_percent(summary.within_10),
    ]


def between_steps(memory) -> float:
    """Bytes allocated after a step: all but activations, transients and buffers."""
    gone = (api.LEDGER_KIND_ACTIVATION, api.LEDGER_KIND_TRANSIENT)
    freed = sum(row.size_bytes for row in memory.sums if row.kind in gone)
    return memory.allocated_bytes.expected - freed


def state_rows(answers: list[Answer]) -> list[list[str]]:
    """Errors of model state alone: of rows in bf16 without pipeline parallelism."""
    errors, known = [], []
    for answer in answers:
        run = answer.run
        bf16 = run.request.training.precision.compute_data_type == api.DATA_TYPE_BF16
        stages = len(answer.prediction.plan.memory.stages)
        if run.between_steps is None or stages > 1 or not bf16:
            continue
        errors.append(between_steps(answer.prediction.memory) / run.between_steps - 1)
        if run.fully_known:
            known.append(errors[-1])
    head = ["allocated after a step", MEGATRON, ALL_FIELDS]
    return [
        [*head, which, *summary_cells(some)]
        for which, some in ((ALL, errors), (FULLY_KNOWN, known))
    ]


def error_table(figures: list[Figure], answers: list[Answer]) -> Table:
    """Errors of each source and definition, a line for each request and choice of rows."""
    groups = sorted({(figure.definition, figure.answer.run.source) for figure in figures})
    rows = []
    for definition, source in groups:
        for request in REQUESTS:
            group = [
                figure
                for figure in figures
                if (figure.definition, figure.answer.run.source) == (definition, source)
                and figure.request == request
            ]
            known = [figure for figure in group if figure.answer.run.fully_known]
            for which, some in ((ALL, group), (FULLY_KNOWN, known)):
                cells = summary_cells([figure.error for figure in some])
                rows.append([str(definition), source, request, which, *cells])
    rows += state_rows(answers)
    return Table(["definition", "source", "request", "which", *SUMMARY_COLUMNS], rows)


def between(ordered: list[float], share: float) -> float:
    """The quantile of `ordered`, not empty, between its two nearest figures."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def coverage_of_left_out(residuals: dict[str, list[float]], tail: float) -> float:
    """The share of figures inside an interval made on the residuals of all other series."""
    inside = 0
    for left_out, own in residuals.items():
        others = sorted(e for series, es in residuals.items() if series != left_out for e in es)
        if others:
            low, high = between(others, tail), between(others, 1 - tail)
            inside += sum(low <= error <= high for error in own)
    return inside / sum(map(len, residuals.values()))


def framework_of(figure: Figure) -> str:
    kind = figure.answer.run.request.layout.framework.kind
    return api.FrameworkMemory.Kind.Name(kind).removeprefix("KIND_").lower()


def coverage_cells(figures: list[Figure], framework: str) -> list[str]:
    residuals: dict[str, list[float]] = {}
    below = above = 0
    for figure in figures:
        interval = figure.prediction.of(figure.definition)
        below += figure.measured < interval.low
        above += figure.measured > interval.high
        series = figure.answer.run.source + figure.answer.run.series
        residuals.setdefault(series, []).append(figure.measured / interval.expected - 1)
    count = len(figures)
    out = [str(count)]
    out += [whole_percent(part / count) for part in (count - below - above, below, above)]
    if count < ENOUGH_FIGURES:
        return [*out, "", "unproven"]
    # The tail that the engine's interval of a framework leaves on each side of its residuals: less
    # where all figures are of one project's few series.
    tail = 0.05 if framework == "deepspeed" else 0.1
    return [*out, str(len(residuals)), whole_percent(coverage_of_left_out(residuals, tail))]


def coverage_table(figures: list[Figure]) -> Table:
    """Shares of figures in their 80 % intervals. Calculated figures have none."""
    groups: dict[tuple, list[Figure]] = {}
    for figure in figures:
        if figure.definition != Definition.CALCULATED:
            order = REQUESTS.index(figure.request)
            key = (figure.definition, framework_of(figure), order)
            groups.setdefault(key, []).append(figure)
    rows = [
        [str(definition), framework, REQUESTS[order], *coverage_cells(group, framework)]
        for (definition, framework, order), group in sorted(groups.items())
    ]
    columns = ["figures", "inside %", "below low %", "above high %", "series"]
    columns.append("inside, of series left out %")
    return Table(["definition", "framework", "request", *columns], rows)


def worst_table(figures: list[Figure]) -> Table:
    """The largest errors of all rows and of those fully known."""
    known = [figure for figure in figures if figure.answer.run.fully_known]
    rows = []
    for which, some in ((ALL, figures), (FULLY_KNOWN, known)):
        for figure in sorted(some, key=lambda figure: -abs(figure.error))[:WORST]:
            phase = api.PeakPhase.Name(figure.prediction.memory.peak_phase)
            rows.append(
                [
                    which,
                    figure.answer.run.id,
                    str(figure.definition),
                    gibibytes(figure.measured),
                    gibibytes(figure.prediction.of(figure.definition).expected),
                    signed_percent(figure.error),
                    phase.removeprefix("PEAK_PHASE_").lower(),
                    figure.cause,
                ]
            )
    columns = ["which", "run", "definition", "measured GiB", "predicted GiB", "error %"]
    return Table([*columns, "at the peak", "cause"], rows)


def cause_table(figures: list[Figure]) -> Table:
    """Causes of figures more than 3 % off."""
    errors: dict[str, list[float]] = {}
    for figure in figures:
        if abs(figure.error) > CLOSE:
            errors.setdefault(figure.cause, []).append(figure.error)
    rows = []
    for cause in [*CAUSES, {"cause": NOT_NAMED, "why": ""}]:
        name = cause["cause"]
        if name in errors:
            summary = summary_of(errors[name])
            figures = [signed_percent(summary.median_signed), percent(summary.worst)]
            rows.append([name, str(summary.count), *figures, cause["why"]])
    return Table(["cause", "rows beyond 3 %", "median %", "worst %", "why"], rows)


def figure_table(figures: list[Figure]) -> Table:
    """Every measured figure and its interval, in bytes."""
    rows = []
    for figure in figures:
        run = figure.answer.run
        interval = figure.prediction.of(figure.definition)
        sizes = (figure.measured, interval.expected, interval.low, interval.high)
        if figure.definition != Definition.CALCULATED:
            names = [run.source, framework_of(figure), run.series, run.id, figure.request]
            known = str(int(run.fully_known))
            rows.append([*names, str(figure.definition), known, *(f"{b:.0f}" for b in sizes)])
    columns = ["source", "framework", "series", "id", "request", "definition", "fully_known"]
    return Table([*columns, "measured", "expected", "low", "high"], rows)
