"""How near predictions of steps are, in a few numbers."""

import math
from typing import Callable, NamedTuple

from error_summary import ErrorSummary, summary_of
from step_study import Case, groups_by

# The error of a case; None where there is none.
StepError = Callable[[Case], float | None]


def errors_of(cases: list[Case], error: StepError) -> list[float]:
    return [value for value in map(error, cases) if value is not None]


def score_of(cases: list[Case], error: StepError) -> ErrorSummary:
    return summary_of(errors_of(cases, error))


def by_family(cases: list[Case], error: StepError) -> list[list[float]]:
    families = groups_by(cases, lambda case: case.row.family).values()
    return list(filter(None, (errors_of(family, error) for family in families)))


def family_score_of(cases: list[Case], error: StepError) -> ErrorSummary:
    """One vote a family: of the families' median sizes; bias of their median errors."""
    scores = [summary_of(errors) for errors in by_family(cases, error)]
    bias = summary_of([score.median_signed for score in scores]).median_signed
    return summary_of([score.median for score in scores])._replace(median_signed=bias)


def weighted_quantile(values: list[tuple[float, float]], share: float) -> float:
    """The smallest of (value, weight) with `share` of the weight at or below it; 0 of none."""
    ordered = sorted(values)
    total = sum(weight for _, weight in ordered)
    below = 0.0
    for value, weight in ordered:
        below += weight
        if below >= share * total - 1e-12:
            return value
    return ordered[-1][0] if ordered else 0


class Band(NamedTuple):
    """10th and 90th percentile of ln(1 / (1 + error)), a family's rows weighing 1 / sqrt(their
    number)."""

    rows: int
    families: int
    low: float
    high: float


def band_of(cases: list[Case], error: StepError) -> Band:
    families = by_family(cases, error)
    values = [(-math.log1p(each), 1 / math.sqrt(len(errors)))
              for errors in families for each in errors]
    return Band(len(values), len(families), weighted_quantile(values, 0.1),
                weighted_quantile(values, 0.9))


def ranks_of(values: list[float]) -> list[float]:
    """From 0; equal values share the mean of theirs."""
    places: dict[float, list[int]] = {}
    for rank, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(rank)
    return [(places[value][0] + places[value][-1]) / 2 for value in values]


def spearman(a: list[float], b: list[float]) -> float:
    """Spearman's rank correlation, ties sharing their ranks' mean; 0 of fewer than two."""
    if len(a) < 2:
        return 0
    mean = (len(a) - 1) / 2
    pairs = [(x - mean, y - mean) for x, y in zip(ranks_of(a), ranks_of(b))]
    of_a, of_b = sum(x * x for x, _ in pairs), sum(y * y for _, y in pairs)
    return sum(x * y for x, y in pairs) / math.sqrt(of_a * of_b) if of_a and of_b else 0
