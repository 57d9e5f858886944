"""Tables of docs/accuracy_memory.md about errors of figures."""

from typing import NamedTuple

from cells import GIB, api, load
from error_summary import between, percent, signed_percent, summary_of, whole_percent
from measured_case import ALL_FIELDS, REQUESTS, Definition, MeasuredCase
from memory_row import MEGATRON
from tables import Table, grouped

CLOSE = 0.03
WORST = 10
ENOUGH_FIGURES = 20
ALL, FULLY_KNOWN = "all", "fully known"  # rows

CAUSES = load("causes.yaml")["memory"]
NOT_NAMED = "not named"

SUMMARY_COLUMNS = (
    "rows|median %|10th percentile %|90th percentile %|median of sizes %|"
    "90th percentile of sizes %|within 3 %, % of rows|within 10 %, % of rows"
).split("|")


class Figure(NamedTuple):
    """A figure of a run, and the service's answer to one of the run's requests."""

    run: MeasuredCase
    request: str
    definition: Definition
    measured: int

    @property
    def interval(self):
        return self.run.predictions[self.request].of(self.definition)

    @property
    def error(self) -> float:
        """Signed: the expected figure over what was measured, less 1."""
        return self.interval.expected / self.measured - 1

    @property
    def framework(self) -> str:
        kind = self.run.request.layout.framework.kind
        return api.FrameworkMemory.Kind.Name(kind).removeprefix("KIND_").lower()

    @property
    def cause(self) -> str:
        for cause in CAUSES:
            held = self.run.traits >= set(cause.get("traits", []))
            if held and str(self.definition) == cause.get("definition", str(self.definition)):
                return cause["cause"]
        return NOT_NAMED


def figures_of(runs: list[MeasuredCase], request: str) -> list[Figure]:
    """Every figure of every run that `request` is answered for, in their order."""
    answered = [run for run in runs if request in run.predictions]
    return [Figure(run, request, *figure) for run in answered for figure in run.measured]


def known_of(figures: list[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.run.fully_known]


def gibibytes(size: float) -> str:
    return f"{size / GIB:.2f}"


def summary_cells(errors: list[float]) -> list[str]:
    s = summary_of(errors)
    if not errors:
        return ["0", *[""] * 7]
    signed = map(signed_percent, (s.median_signed, s.low, s.high))
    shares = map(whole_percent, (s.within_3, s.within_10))
    return [str(s.count), *signed, percent(s.median), percent(s.p90), *shares]


def state_rows(runs: list[MeasuredCase]) -> list[list[str]]:
    """Errors of model state alone: of rows in bf16 without pipeline parallelism.

    Allocated after a step is all but activations, transients and buffers.
    """
    gone = (api.LEDGER_KIND_ACTIVATION, api.LEDGER_KIND_TRANSIENT)
    errors: dict[str, list[float]] = {ALL: [], FULLY_KNOWN: []}
    for run in runs:
        memory, stages = run.prediction.memory, len(run.prediction.plan.memory.stages)
        bf16 = run.request.training.precision.compute_data_type == api.DATA_TYPE_BF16
        if run.between_steps is None or stages > 1 or not bf16:
            continue
        freed = sum(row.size_bytes for row in memory.sums if row.kind in gone)
        error = (memory.allocated_bytes.expected - freed) / run.between_steps - 1
        errors[ALL].append(error)
        errors[FULLY_KNOWN] += [error] if run.fully_known else []
    head = ["allocated after a step", MEGATRON, ALL_FIELDS]
    return [[*head, which, *summary_cells(some)] for which, some in errors.items()]


def error_table(figures: list[Figure], runs: list[MeasuredCase]) -> Table:
    """Errors of each source and definition, a line for each request and choice of rows."""
    groups = grouped(figures, lambda f: (f.definition, f.run.source, REQUESTS.index(f.request)))
    rows = []
    for (definition, source, order), group in sorted(groups.items()):
        for which, some in ((ALL, group), (FULLY_KNOWN, known_of(group))):
            cells = summary_cells([figure.error for figure in some])
            rows.append([str(definition), source, REQUESTS[order], which, *cells])
    columns = ["definition", "source", "request", "which", *SUMMARY_COLUMNS]
    return Table(columns, rows + state_rows(runs))


def coverage_of_left_out(residuals: dict[str, list[float]], tail: float) -> float:
    """The share of figures inside an interval made on the residuals of all other series."""
    inside = 0
    for left_out, own in residuals.items():
        others = sorted(e for series, es in residuals.items() if series != left_out for e in es)
        if others:
            low, high = between(others, tail), between(others, 1 - tail)
            inside += sum(low <= error <= high for error in own)
    return inside / sum(map(len, residuals.values()))


def coverage_cells(figures: list[Figure], framework: str) -> list[str]:
    below = sum(figure.measured < figure.interval.low for figure in figures)
    above = sum(figure.measured > figure.interval.high for figure in figures)
    count = len(figures)
    out = [str(count)]
    out += [whole_percent(part / count) for part in (count - below - above, below, above)]
    if count < ENOUGH_FIGURES:
        return [*out, "", "unproven"]
    series = grouped(figures, lambda figure: figure.run.source + figure.run.series)
    residuals = {
        name: [figure.measured / figure.interval.expected - 1 for figure in some]
        for name, some in series.items()
    }
    # The tail that the engine's interval of a framework leaves on each side of its residuals: less
    # where all figures are of one project's few series.
    tail = 0.05 if framework == "deepspeed" else 0.1
    return [*out, str(len(residuals)), whole_percent(coverage_of_left_out(residuals, tail))]


def coverage_table(figures: list[Figure]) -> Table:
    """Shares of figures in their 80 % intervals."""
    groups = grouped(figures, lambda f: (f.definition, f.framework, REQUESTS.index(f.request)))
    rows = [
        [str(definition), framework, REQUESTS[order], *coverage_cells(group, framework)]
        for (definition, framework, order), group in sorted(groups.items())
        if definition != Definition.CALCULATED
    ]
    columns = ["figures", "inside %", "below low %", "above high %", "series"]
    columns.append("inside, of series left out %")
    return Table(["definition", "framework", "request", *columns], rows)


def worst_table(figures: list[Figure]) -> Table:
    """The largest errors of all rows and of those fully known."""
    rows = []
    for which, some in ((ALL, figures), (FULLY_KNOWN, known_of(figures))):
        for figure in sorted(some, key=lambda figure: -abs(figure.error))[:WORST]:
            phase = api.PeakPhase.Name(figure.run.prediction.memory.peak_phase)
            peak = phase.removeprefix("PEAK_PHASE_").lower()
            sizes = map(gibibytes, (figure.measured, figure.interval.expected))
            cells = [figure.run.id, str(figure.definition), *sizes, signed_percent(figure.error)]
            rows.append([which, *cells, peak, figure.cause])
    columns = ["which", "run", "definition", "measured GiB", "predicted GiB", "error %"]
    return Table([*columns, "at the peak", "cause"], rows)


def cause_table(figures: list[Figure]) -> Table:
    """Causes of figures more than 3 % off."""
    groups = grouped([f for f in figures if abs(f.error) > CLOSE], lambda f: f.cause)
    rows = []
    for cause in [*CAUSES, {"cause": NOT_NAMED, "why": ""}]:
        name = cause["cause"]
        if name in groups:
            summary = summary_of([figure.error for figure in groups[name]])
            errors = [signed_percent(summary.median_signed), percent(summary.worst)]
            rows.append([name, str(summary.count), *errors, cause["why"]])
    return Table(["cause", "rows beyond 3 %", "median %", "worst %", "why"], rows)


def figure_table(figures: list[Figure]) -> Table:
    """Every measured figure and its interval, in bytes."""
    rows = []
    for figure in figures:
        run, interval = figure.run, figure.interval
        sizes = (figure.measured, interval.expected, interval.low, interval.high)
        if figure.definition != Definition.CALCULATED:
            names = [run.source, figure.framework, run.series, run.id, figure.request]
            known = str(int(run.fully_known))
            rows.append([*names, str(figure.definition), known, *(f"{b:.0f}" for b in sizes)])
    columns = ["source", "framework", "series", "id", "request", "definition", "fully_known"]
    return Table([*columns, "measured", "expected", "low", "high"], rows)
