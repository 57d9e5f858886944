"""Errors of many rows in a few numbers; 0.03 is 3 %."""

import math
from typing import NamedTuple


class ErrorSummary(NamedTuple):
    """Statistics of signed errors. Shares include their limits."""

    count: int
    median_signed: float
    low: float  # 10th percentile, signed
    high: float  # 90th percentile, signed
    median: float  # of the sizes of errors
    p90: float  # 90th percentile of the sizes of errors
    worst: float  # the largest of them
    within_3: float
    within_10: float
    within_20: float


def quantile(ordered: list[float], share: float) -> float:
    """The smallest with at least `share` of them at or below it (nearest rank).

    The mean of both in the middle where half of them are. `ordered` is not empty.
    """
    index = min(len(ordered), max(math.ceil(share * len(ordered) - 1e-9), 1)) - 1
    if share == 0.5 and len(ordered) % 2 == 0:
        return (ordered[index] + ordered[index + 1]) / 2
    return ordered[index]


def between(ordered: list[float], share: float) -> float:
    """The quantile of `ordered`, not empty, linear between its two nearest."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summary_of(errors: list[float]) -> ErrorSummary:
    """All 0 of no errors."""
    if not errors:
        return ErrorSummary(0, *[0.0] * 9)
    ordered = sorted(errors)
    sizes = sorted(map(abs, errors))
    return ErrorSummary(
        len(errors),
        *(quantile(ordered, share) for share in (0.5, 0.1, 0.9)),
        *(quantile(sizes, share) for share in (0.5, 0.9)),
        sizes[-1],
        *(sum(size <= limit for size in sizes) / len(sizes) for limit in (0.03, 0.10, 0.20)),
    )


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def whole_percent(share: float) -> str:
    return f"{100 * share:.0f}"


def signed_percent(share: float) -> str:
    return f"{100 * share:+.2f}"
