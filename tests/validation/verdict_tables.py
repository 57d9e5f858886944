"""Tables of docs/accuracy_memory.md about runs: those that fit and that ran out, those that lack a
field or contradict one another, those left out, and what is assumed of others."""

from collections import Counter

from cells import api
from error_summary import signed_percent
from measured_case import (
    ALL_FIELDS,
    CONTRADICTED,
    DEFAULTS,
    REQUESTS,
    SELF_CONTRADICTING,
    Definition,
    MeasuredCase,
    OpenCase,
)
from memory_answers import Answers
from memory_tables import gibibytes
from run_request import data_parallel_size, given
from tables import Table, grouped

VERDICTS = ("FITS", "TIGHT", "DOES_NOT_FIT")


def verdict_of(plan) -> str:
    return api.Verdict.Name(plan.verdict).removeprefix("VERDICT_")


def verdict_table(runs: list[MeasuredCase]) -> Table:
    counts: dict[tuple, Counter] = {}
    for run in runs:
        # Nothing ran for calculated figures.
        if not run.ran_out and run.measured[0][0] == Definition.CALCULATED:
            continue
        for request, prediction in run.predictions.items():
            key = (run.source, REQUESTS.index(request), run.ran_out)
            counts.setdefault(key, Counter())[verdict_of(prediction.plan)] += 1
    rows = []
    for (source, order, ran_out), count in sorted(counts.items()):
        job = "ran out of memory" if ran_out else "ran"
        rows.append([source, REQUESTS[order], job, *(str(count[v]) for v in VERDICTS)])
    return Table(["source", "request", "the job", *VERDICTS], rows)


def model_text(model) -> str:
    """ "72 layers of 14336, 64 heads", or a preset's name."""
    if not model.HasField("architecture"):
        return model.preset
    shape = model.architecture
    layers = sum(run.count for run in shape.decoder.layers)
    heads = shape.layer_kinds[0].attention.head_count if shape.layer_kinds else 0
    return f"{layers} layers of {shape.hidden_size}, {heads} heads"


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
        measured = "ran out" if run.measured is None else gibibytes(run.measured)
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
    groups = grouped(measured, setting_without_gpus)
    out = []
    for group in groups.values():
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
    rows = []
    for kind, found in kinds.items():
        names = sorted({(run.source, run.id) for run in found})
        rows += [[source, kind, name] for source, name in names]
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
