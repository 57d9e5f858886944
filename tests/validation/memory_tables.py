"""Tables of docs/accuracy_memory.md: errors of figures; and runs: those that fit and that ran out,
those that lack a field or contradict one another, and those that are left out or assume something.
"""

import math
from collections import Counter
from typing import NamedTuple

from cells import GIB, api, load
from error_summary import between, percent, signed_percent, summary_of, whole_percent
from measured_case import (
    ALL_FIELDS,
    CONTRADICTED,
    DEFAULTS,
    SELF_CONTRADICTING,
    Definition,
    MeasuredCase,
    OpenCase,
)
from memory_answers import Answers
from memory_row import MEGATRON
from run_request import data_parallel_size, given
from tables import Table, grouped

CLOSE = 0.03
WORST = 10
ENOUGH_FIGURES = 20
ALL, FULLY_KNOWN = "all", "fully known"  # rows
SIZES = (("below 5 GiB", 0, 5), ("5 to 20 GiB", 5, 20), ("above 20 GiB", 20, math.inf))
VERDICTS = ("FITS", "TIGHT", "DOES_NOT_FIT")

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
    gone = (
        api.LEDGER_KIND_ACTIVATION,
        api.LEDGER_KIND_TRANSIENT,
        api.LEDGER_KIND_FRAMEWORK_RESERVE,
    )
    errors: dict[str, list[float]] = {ALL: [], FULLY_KNOWN: []}
    for run in runs:
        memory, stages = run.prediction.memory, len(run.prediction.plan.memory.stages)
        bf16 = run.request.training.precision.compute_data_type == api.DATA_TYPE_BF16
        if run.between_steps is None or stages > 1 or not bf16:
            continue
        stays = sum(row.size_bytes for row in memory.sums if row.kind not in gone)
        stays += sum(row.size_bytes for row in memory.ledger if row.name == "framework.workspace")
        error = stays / run.between_steps - 1
        errors[ALL].append(error)
        errors[FULLY_KNOWN] += [error] if run.fully_known else []
    head = ["allocated after a step", MEGATRON, ALL_FIELDS]
    return [[*head, which, *summary_cells(some)] for which, some in errors.items()]


def error_table(figures: list[Figure], runs: list[MeasuredCase]) -> Table:
    """Errors of each source and definition, a line for each request and choice of rows."""
    groups = grouped(figures, lambda f: (f.definition, f.run.source, f.request))
    rows = []
    for (definition, source, request), group in sorted(groups.items()):
        for which, some in ((ALL, group), (FULLY_KNOWN, known_of(group))):
            cells = summary_cells([figure.error for figure in some])
            rows.append([str(definition), source, request, which, *cells])
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
    parts = (count - below - above, below, above)
    out = [str(count), *(whole_percent(part / count) for part in parts)]
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
    groups = grouped(figures, lambda f: (f.definition, f.framework, f.request))
    rows = [
        [str(definition), framework, request, *coverage_cells(group, framework)]
        for (definition, framework, request), group in sorted(groups.items())
        if definition != Definition.CALCULATED
    ]
    columns = ["definition", "framework", "request", "figures", "inside %", "below low %"]
    return Table([*columns, "above high %", "series", "inside, of series left out %"], rows)


def size_table(figures: list[Figure]) -> Table:
    """Shares of allocated figures in their intervals, by what is expected."""
    rows = []
    for words, least, most in SIZES:
        some = [f for f in figures if f.definition == Definition.ALLOCATED]
        some = [f for f in some if least <= f.interval.expected / GIB < most]
        inside = [f.interval.low <= f.measured <= f.interval.high for f in some]
        share = whole_percent(sum(inside) / len(some)) if len(some) >= ENOUGH_FIGURES else ""
        rows.append([words, str(len(some)), share])
    return Table(["size", "figures", "inside %"], rows)


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


def verdict_of(plan) -> str:
    return api.Verdict.Name(plan.verdict).removeprefix("VERDICT_")


def verdict_table(runs: list[MeasuredCase]) -> Table:
    # Nothing ran for calculated figures.
    asked = [run for run in runs if run.ran_out or run.measured[0][0] != Definition.CALCULATED]
    counts = Counter(
        (run.source, request, "ran out of memory" if run.ran_out else "ran", verdict_of(found.plan))
        for run in asked
        for request, found in run.predictions.items()
    )
    lines = sorted({key[:-1] for key in counts})
    rows = [[*line, *(str(counts[*line, verdict]) for verdict in VERDICTS)] for line in lines]
    return Table(["source", "request", "the job", *VERDICTS], rows)


def model_text(model) -> str:
    """ "72 layers of 14336, 64 heads", or a preset's name."""
    shape = model.transformer
    if not shape.layer_count:
        return model.preset
    heads = shape.attention_head_count
    return f"{shape.layer_count} layers of {shape.hidden_size}, {heads} heads"


def settings_of(run: MeasuredCase) -> list[str]:
    """A job's settings, as far as such jobs differ."""
    request = run.request
    layout, parallel = request.layout, request.layout.parallel
    gradient = api.DataType.Name(request.training.precision.gradient_data_type)
    return [
        model_text(request.model),
        f"tensor {given(parallel, 'tensor_parallel_size')}",
        f"pipeline {given(parallel, 'pipeline_parallel_size')}",
        f"data {data_parallel_size(request)}",
        f"ZeRO {max(0, layout.sharding.zero_stage - 1)}",
        f"micro-batch {layout.micro_batch_size}",
        f"gradients in {gradient.removeprefix('DATA_TYPE_').lower()}",
    ]


def process_of(run: MeasuredCase):
    return run.prediction.of(Definition.PROCESS)


def nearest_that_fits(run: MeasuredCase, runs: list[MeasuredCase]) -> MeasuredCase | None:
    """The measured run, of the same source and device, that differs in the fewest settings.

    Of several, the one with the nearest prediction.
    """

    def device(of: MeasuredCase) -> tuple:
        cluster = of.request.cluster
        return of.source, cluster.device.accelerator, cluster.device_memory_bytes

    def distance(other: MeasuredCase) -> tuple:
        pairs = zip(settings_of(run), settings_of(other))
        apart = abs(process_of(other).expected - process_of(run).expected)
        return sum(mine != others for mine, others in pairs), apart

    others = [other for other in runs if not other.ran_out and device(other) == device(run)]
    return min(others, key=distance, default=None)


def out_of_memory_table(runs: list[MeasuredCase]) -> Table:
    """Runs that ran out, each followed by the nearest that did not."""
    pairs = [(run, nearest_that_fits(run, runs)) for run in runs if run.ran_out]
    rows = []
    for run in filter(None, (run for pair in pairs for run in pair)):
        measured = "ran out" if run.figure is None else gibibytes(run.figure)
        ends = map(gibibytes, (process_of(run).low, process_of(run).high))
        chance = f"{100 * run.prediction.plan.fit_chance:.0f}"
        verdict = verdict_of(run.prediction.plan)
        rows.append([run.id, ", ".join(settings_of(run)), measured, *ends, chance, verdict])
    columns = ["run", "settings", "measured GiB", "process: low GiB", "high GiB", "chance %"]
    return Table([*columns, "verdict"], rows)


def surprises(runs: list[MeasuredCase]) -> list[str]:
    """Runs that are predicted to fit but ran out, compared with similar ones that ran."""
    out = []
    for run in [run for run in runs if run.ran_out]:
        other = nearest_that_fits(run, runs)
        if verdict_of(run.prediction.plan) != "FITS" or other is None or not other.measured:
            continue
        apart = signed_percent(process_of(run).expected / process_of(other).expected - 1)
        out.append(
            f"{run.id} ran out but is predicted to fit. The prediction is {apart} % from that of "
            f"{other.id}, which ran in {gibibytes(other.figure)} GiB. Where the two predictions "
            "are as good as equal, the row lacks what made it run out.\n"
        )
    return out


def open_table(answers: Answers) -> Table:
    rows = []
    for run in answers.open:
        measured = "ran out" if run.figure is None else gibibytes(run.figure)
        ends = map(gibibytes, (run.low, run.high))
        inside = "yes" if run.inside else "no"
        rows.append([run.source, run.id, run.open, *ends, measured, inside])
    columns = ["source", "row", "open", "lowest GiB", "highest GiB", "measured GiB", "inside"]
    return Table(columns, rows)


def setting_without_gpus(run: MeasuredCase | OpenCase) -> tuple:
    """All of a run but the number of its GPUs and the sharding among them."""
    setting = api.PlanRunRequest()
    setting.CopyFrom(run.requests[0])
    setting.ClearField("cluster")
    for field in ("global_batch_size", "sharding", "framework"):
        setting.layout.ClearField(field)
    return run.source, run.figure, setting.SerializeToString(deterministic=True)


def unmoved_by_sharding(answers: Answers) -> list[MeasuredCase | OpenCase]:
    """Runs with equal figures of which only some shard their weights."""
    runs = [*answers.answered, *answers.open]
    measured = [run for run in runs if run.figure is not None]
    out = []
    for group in grouped(measured, setting_without_gpus).values():
        stages = {run.requests[0].layout.sharding.zero_stage for run in group}
        if len(stages) > 1 and api.ZERO_STAGE_PARAMETERS in stages:
            out += group
    return out


def contradiction_table(answers: Answers) -> Table:
    """Rows whose source contradicts itself."""
    repeated = [run for run in answers.answered if CONTRADICTED in run.traits]
    kinds = {
        "equal questions with figures more than 10 % apart": repeated,
        "the same figure with and without shards": unmoved_by_sharding(answers),
        SELF_CONTRADICTING: [r for r in answers.left_out if r.reason == SELF_CONTRADICTING],
    }
    rows = [
        [source, kind, name]
        for kind, found in kinds.items()
        for source, name in sorted({(run.source, run.id) for run in found})
    ]
    return Table(["source", "contradiction", "row"], rows)


def reason_table(answers: Answers) -> Table:
    """Reasons of each source, the most frequent first: why rows are left out, why the service
    refuses others with their frameworks' defaults, and what is assumed of rows."""
    answered = answers.answered
    kinds = {
        ("left out", ALL_FIELDS): [(row.source, row.reason) for row in answers.left_out],
        ("left out", DEFAULTS): [
            (run.source, run.defaults_refused) for run in answered if run.defaults_refused
        ],
        ("assumed", ""): [(run.source, words) for run in answered for words in run.assumptions],
    }
    rows = []
    for (kind, request), reasons in kinds.items():
        counts = Counter(reasons).items()
        for (source, reason), count in sorted(counts, key=lambda c: (c[0][0], -c[1], c[0][1])):
            rows.append([kind, source, request, str(count), reason])
    return Table(["rows are", "source", "request", "rows", "why"], rows)
