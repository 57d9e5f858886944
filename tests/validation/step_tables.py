"""Tables of the report on step times."""

import math
from collections import Counter
from operator import attrgetter
from statistics import median_low

from cells import load
from error_summary import ErrorSummary
from error_summary import whole_percent as whole
from step_score import band_of, family_score_of, score_of, weighted_quantile
from step_sources import CONSTANTS, holds
from step_study import Case, Prediction, Results, groups_by
from step_sweeps import (BANDS, MEASURED_END, SHARES, WAYS, Sweep, choices, cost_of, coverage,
                         median_error, pairs_at)
from tables import Table, grouped

GROUPS = ("source", "hardware", "framework", "format", "strategy")
TUNING, INSIDE = "task of fine-tuning", "inside the interval:"
LARGEST_PARTS = 4
LOW_RANK = 0.85  # sweeps below it are listed


def share(value: float) -> str:
    return f"{100 * value:.1f}"


def signed(value: float) -> str:
    return f"{100 * value:+.1f}"


def of(seconds):
    """The error of an estimate, in seconds, that a case may lack."""
    return lambda case: seconds(case) / case.row.measured - 1 if seconds(case) else None


in_sight = of(lambda case: case.predicted.expected)
left_out = of(lambda case: case.left_out and case.left_out.expected)
neutral = of(lambda case: case.neutral and case.neutral.expected)
unknown_stack = of(lambda case: case.generic and case.generic.expected)
near_step = of(lambda case: case.near_step)
constant_mfu = of(lambda case: case.constant_mfu)
roofline = of(lambda case: case.roofline)
NUMBERS = ["rows:", "median / p90 %:", "bias %:", "within 10 %:", "within 20 %:"]


def numbers(score: ErrorSummary) -> list[str]:
    if score.count == 0:
        return ["0", "", "", "", ""]
    return [str(score.count), pair(score), signed(score.median_signed), whole(score.within_10),
            whole(score.within_20)]


def pair(score: ErrorSummary) -> str:
    return f"{share(score.median)} / {share(score.p90)}" if score.count else ""


def dense(case: Case) -> bool:
    return not case.row.experts


def lines_of(cases: list[Case]) -> dict[str, list[Case]]:
    """Dense rows with nothing open, all of them, and each class."""
    classes = ("dense, 16 bit", "dense, 8 bit and less", "dense, something open", "experts")
    return {"dense, nothing open": [case for case in cases if dense(case) and not case.row.opened],
            "dense, all": list(filter(dense, cases)),
            **{name: [case for case in cases if case.row.step_class == name] for name in classes}}


# What predictions are made with other than the folds that lack a row's family, and the baselines.
WAYS_OF_PREDICTION = {"in sight:": in_sight, "neutral constants:": neutral,
                      "unknown stack:": unknown_stack, "and one measured step:": near_step,
                      "MFU of 45 %:": constant_mfu, "datasheet roofline:": roofline}


def class_table(results: Results) -> Table:
    """Classes of rows, each family predicted without itself; and in other ways."""
    return Table(["rows", *NUMBERS, "one vote a family:", *WAYS_OF_PREDICTION],
                 [[name, *numbers(score_of(cases, left_out)),
                   pair(family_score_of(cases, left_out)),
                   *(pair(score_of(cases, error)) for error in WAYS_OF_PREDICTION.values())]
                  for name, cases in lines_of(results.cases).items()])


def group_table(results: Results) -> Table:
    """In sight, by an attribute of the rows; and fine-tuning by task."""
    def line(by, name, cases, *more):
        return [by, name, *numbers(score_of(cases, in_sight)), *more]
    rows = []
    for by in GROUPS:
        def name_of(case, by=by):
            return getattr(case.row, by) + (", experts" if case.row.experts else "")
        for name, cases in groups_by(results.cases, name_of).items():
            errors = (pair(score_of(cases, error)) for error in (left_out, constant_mfu, roofline))
            rows.append(line(by, name, cases, *errors, ""))
    for name, cases in groups_by(results.tuned, lambda case: f"{case.row.task}, "
                                 f"{'8 bit' if case.row.narrow else '16 bit'}").items():
        inside = sum(case.predicted.covers(case.row.measured) for case in cases)
        rows.append(line(TUNING, name, cases, "", "", "", str(inside)))
    return Table(["by", "group", *NUMBERS, "left out:", "MFU of 45 %:", "roofline:", INSIDE], rows)


def constant_table(results: Results) -> Table:
    rows = [[constant["name"], f"{constant['neutral']:.4g}", f"{on_all:.4g}",
             f"{low:.4g} to {high:.4g}", str(families)]
            for constant, (on_all, low, high, families) in zip(CONSTANTS, results.folds["ranges"])]
    return Table(["constant", "neutral:", "on all rows:", "folds:", "families:"], rows)


def tuned_rows_table(cases: list[Case]) -> Table:
    rows = [[case.row.id, case.row.task, case.row.model, case.row.format,
             f"{case.row.layout.devices} {case.row.hardware}", f"{case.row.measured:.4g}",
             f"{case.predicted.expected:.4g}",
             f"{case.predicted.low:.4g} to {case.predicted.high:.4g}", signed(case.error())]
            for case in cases]
    return Table(["row", "task", "model", "format", "GPUs", "seconds", "predicted", "interval",
                  "error %"], rows)


def open_table(results: Results) -> Table:
    def beyond(case):
        return case.predicted.span_error(case.row.measured)

    def beyond_left_out(case):
        return case.left_out and case.left_out.span_error(case.row.measured)
    rows = []
    opened = [case for case in results.cases if case.row.opened]
    for key, cases in groups_by(opened, lambda case: "; ".join(case.row.opened)
                                + (", experts" if case.row.experts else "")).items():
        widths = [case.predicted.span_high / case.predicted.span_low - 1 for case in cases]
        inside = sum(beyond(case) == 0 for case in cases) / len(cases)
        rows.append([key, str(len(cases)), f"{whole(inside)} %", whole(median_low(widths)),
                     pair(score_of(cases, beyond)), pair(score_of(cases, beyond_left_out))])
    return Table(["open", "rows:", "within the span:", "its width, median %:",
                  "beyond it, median / p90 %:", "left out: beyond it:"], rows)


def sweep_line(source: str, sweeps: list[Sweep]) -> list[str]:
    costs = [sweep.cost for sweep in sweeps]
    ranks = [sweep.spearman for sweep in sweeps]
    return [source, str(len(sweeps)), str(sum(sweep.rows for sweep in sweeps)),
            f"{median_low(ranks):.2f}", f"{min(ranks):.2f}",
            f"{median_low([sweep.reachable for sweep in sweeps]):.2f}", share(median_low(costs)),
            share(max(costs)), whole(sum(sweep.best_ties for sweep in sweeps) / len(sweeps)),
            whole(sum(sweep.best_of_three for sweep in sweeps) / len(sweeps)),
            f"{100 * median_low([sweep.optimism for sweep in sweeps]):+.1f}",
            whole(sum(sweep.covers_first for sweep in sweeps) / len(sweeps))]


def sweep_table(sweeps: list[Sweep]) -> Table:
    by_source = grouped(sweeps, lambda sweep: f"{sweep.source}, {sweep.framework}")
    by_source |= {"all": sweeps} if sweeps else {}
    return Table(["source, framework", "sweeps:", "rows:", "Spearman, median:", "lowest:",
                  "of a perfect model:", "cost of the first, median %:", "most %:",
                  "fastest is a tie %:", "of the first three %:",
                  "the first is longer than predicted, median %:", "inside its interval %:"],
                 [sweep_line(source, group) for source, group in sorted(by_source.items())])


def low_sweep_table(sweeps: list[Sweep]) -> Table:
    """Sweeps whose order is poor, and what spreads their errors."""
    rows = [[each.name.replace(" | ", ", "), str(each.rows), whole(each.spread),
             f"{each.spearman:.2f}", f"{each.reachable:.2f}", share(each.error_spread),
             share(each.noise), share(each.framework_spread), share(each.rest_spread)]
            for each in sweeps if each.spearman < LOW_RANK]
    return Table(["sweep", "rows:", "slowest over fastest, less 1 %:", "Spearman:",
                  "of a perfect model:", "spread of errors %:", "of repeats %:", "of frameworks %:",
                  "the rest %:"], rows)


def coverage_of(cases: list[Case], interval) -> str:
    """Percent."""
    held = [interval(case).covers(case.row.measured) for case in cases if interval(case)]
    return whole(sum(held) / len(held)) if held else ""


def positions_of(cases: list[Case], interval) -> list[str]:
    """The 10th and the 90th percentile of the rows' positions in their intervals."""
    positions = []
    for family in groups_by(cases, lambda case: case.row.family).values():
        positions += [(interval(case).position(case.row.measured), 1 / math.sqrt(len(family)))
                      for case in family if interval(case)]
    return [f"{weighted_quantile(positions, at):+.2f}" for at in (0.1, 0.9)]


def measured_interval(case: Case) -> Prediction | None:
    seconds = case.near_step
    if seconds is None:
        return None
    return Prediction(seconds, seconds * (1 - MEASURED_END), seconds * (1 + MEASURED_END), seconds,
                      seconds, seconds, [])


def band_table(results: Results) -> Table:
    """How often the answers' intervals hold."""
    lines = lines_of(results.cases)
    every = lines["dense, all"]
    lines["dense, left open in the request"] = [case for case in results.cases
                                                if dense(case) and case.row.left_open]
    asked = [(name, cases, left_out, [attrgetter("predicted"), attrgetter("left_out")])
             for name, cases in lines.items()]
    asked += [("unknown stack, dense", every, unknown_stack, [attrgetter("generic")]),
              ("unknown stack, dense, one measured step", every, near_step, [measured_interval])]
    rows = []
    for name, cases, error, intervals in asked:
        band = band_of(cases, error)
        covered = [coverage_of(cases, interval) for interval in intervals]
        rows.append([name, str(band.rows), str(band.families), f"{band.low:+.3f}",
                     f"{band.high:+.3f}", *covered, *[""] * (2 - len(covered)),
                     *positions_of(cases, intervals[-1])])
    return Table(["class", "rows:", "families:", "10th:", "90th:", "covered in sight %:",
                  "family left out %:", "10th, end at -1:", "90th, end at 1:"], rows)


def transfer_table(results: Results) -> Table:
    """Errors of all pairs of one family and device, one of which is measured, the other predicted;
    and what the layout costs that is predicted to be the fastest of a sweep in which one is
    measured."""
    rows = []
    for name, way in WAYS.items():
        for band in BANDS:
            pairs = pairs_at(band, results.cases, way)
            errors = [share(median_error(pairs, way, each)) for each in SHARES.values()]
            rows.append([name, f"up to {band[1]}", str(len(pairs)), str(sum(map(len, pairs))),
                         *errors, whole(coverage(pairs, way))])
    for name, way in WAYS.items():
        sweeps = choices(results.cases, way)
        costs = (sum(cost_of(group, way, each) for group in sweeps) / max(1, len(sweeps))
                 for each in SHARES.values())
        rows.append([f"{name}, cost of a sweep's first", "", str(len(sweeps)), "",
                     *map(share, costs), ""])
    return Table(["predicted", "doublings", "families or sweeps:", "pairs:", *SHARES, "covered %:"],
                 rows)


def largest_parts(predicted: Prediction) -> str:
    total = sum(seconds for _, seconds in predicted.parts)
    ordered = sorted((-seconds, name) for name, seconds in predicted.parts)
    return ", ".join(f"{name} {whole(-seconds / total)}"
                     for seconds, name in ordered[:LARGEST_PARTS])


def worst_table(results: Results, count: int) -> Table:
    causes = load("causes.yaml")["steps"]
    worst = sorted(results.cases, key=lambda case: -abs(math.log1p(case.error())))[:count]
    rows = [[case.row.id, case.row.family.replace(" | ", ", "),
             f"{case.row.layout.devices} {case.row.hardware}", f"{case.row.measured:.4g}",
             f"{case.predicted.expected:.4g}", signed(case.error()), largest_parts(case.predicted),
             next((cause["why"] for cause in causes if holds(cause["where"], case.row)), "")]
            for case in worst]
    return Table(["row", "family", "hardware", "measured s:", "predicted s:", "error %:",
                  "largest parts %", "what is known"], rows)


def left_out_table(results: Results) -> Table:
    counts = Counter((reason, source) for source, _, reason in results.left_out)
    return Table(["reason", "source", "rows:"],
                 [[*key, str(count)] for key, count in sorted(counts.items())])
