"""How near predictions of steps are, in a few numbers."""

import math
from bisect import bisect_left, bisect_right
from itertools import accumulate
from statistics import correlation
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
    below = list(accumulate(weight for _, weight in ordered))
    return ordered[bisect_left(below, share * below[-1] - 1e-12)][0] if ordered else 0


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
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) - 1) / 2
            for value in values]


def spearman(a: list[float], b: list[float]) -> float:
    """Spearman's rank correlation, ties sharing their ranks' mean; 0 where all of one are equal."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return 0
    return correlation(ranks_of(a), ranks_of(b))
