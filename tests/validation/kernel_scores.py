"""How well the times of one kernel are predicted, and tables of that."""

import math
from typing import NamedTuple

from error_summary import ErrorSummary, summary_of
from tables import Table


class Work(NamedTuple):
    """One measured kernel, as a roofline needs it."""

    flops: float
    bytes: float
    seconds: float


class Roofline(NamedTuple):
    """The slower of arithmetic and memory."""

    flops_per_second: float
    bytes_per_second: float

    def seconds(self, work):
        return max(work.flops / self.flops_per_second, work.bytes / self.bytes_per_second)


def datasheet_roofline(fits, gpu, dtype):
    """None where the catalogue lacks the device or one of its figures."""
    device = fits.ask("device", gpu=gpu, type=dtype)
    if not device or not device["flops_per_second"] or not device["bytes_per_second"]:
        return None
    return Roofline(device["flops_per_second"], device["bytes_per_second"])


def best_roofline(works):
    """The best rates that any of `works` shows."""
    return Roofline(max((work.flops / work.seconds for work in works), default=0),
                    max((work.bytes / work.seconds for work in works), default=0))


class Score(NamedTuple):
    """Errors are predicted over measured time less 1; `best` is the roofline of the best rates
    among the calibration's points."""

    gpu: str
    dtype: str
    kernel: str
    domain: str
    points: int  # of the calibration; none is scored
    ours: ErrorSummary
    datasheet: ErrorSummary
    best: ErrorSummary
    inside: float  # share of rows within the interval, which aims at 80 %


def score_of(names, points, rooflines, predicted):
    """`names` are a score's first four fields, `predicted` pairs of a work and its predicted
    [expected, low, high]; `rooflines` that of the datasheet, or None, and of the points."""
    datasheet, best = rooflines
    inside = sum(low <= work.seconds <= high for work, (_, low, high) in predicted)
    return Score(*names, points,
                 summary_of([time[0] / work.seconds - 1 for work, time in predicted]),
                 summary_of([datasheet.seconds(work) / work.seconds - 1 for work, _ in predicted]
                            if datasheet else []),
                 summary_of([best.seconds(work) / work.seconds - 1 for work, _ in predicted]),
                 inside / len(predicted) if predicted else 0)


ERROR_COLUMNS = ["median %:", "p90 %:", "within 10 %:", "bias %:"]


def pair(errors):
    return ([f"{100 * errors.median:.1f}", f"{100 * errors.p90:.1f}"] if errors.count
            else ["-", "-"])


def error_cells(errors):
    return [*pair(errors), f"{100 * errors.within_10:.0f}", f"{100 * errors.median_signed:+.1f}"]


def score_table(scores):
    columns = ["GPU", "type", "kernel", "shapes", "points:", "scored:", *ERROR_COLUMNS,
               "in interval %:"]
    columns += [f"{roofline} roofline {part} %:" for roofline in ("datasheet", "measured-peak")
                for part in ("median", "p90")]
    return Table(columns, [
        [each.gpu, each.dtype, each.kernel, each.domain, str(each.points), str(each.ours.count),
         *error_cells(each.ours), f"{100 * each.inside:.0f}", *pair(each.datasheet),
         *pair(each.best)] for each in scores])


class Ratios(NamedTuple):
    """Quantiles of measured over predicted time, linear between ranks."""

    count: int
    p10: float
    median: float
    p90: float


def ratios_of(values):
    ordered = sorted(values)

    def quantile(share):
        rank = share * (len(ordered) - 1)
        below = int(rank)
        between = rank - below
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] * (1 - between) + ordered[above] * between
    return Ratios(len(ordered), quantile(0.1), quantile(0.5), quantile(0.9))


class Lacks:
    """Measured over expected time of shapes that lack something, by what they lack."""

    def __init__(self):
        self.ratios = {}
        self.inside = {}

    def add(self, lack, points, times):
        ratios = self.ratios.setdefault(lack, [])
        for point, (expected, low, high) in zip(points, times):
            ratios.append(point.seconds / expected)
            held = low <= point.seconds <= high
            self.inside[lack] = self.inside.get(lack, 0) + held

    def rows(self, kernel):
        return [[kernel, lack, *ratio_cells(ratios_of(ratios)),
                 f"{100 * self.inside[lack] / len(ratios):.0f}"]
                for lack, ratios in sorted(self.ratios.items()) if ratios]


RATIO_COLUMNS = ["shapes:", "measured over expected: p10:", "median:", "p90:"]


def ratio_cells(ratios):
    return [str(ratios.count), *(f"{ratio:.2f}" for ratio in ratios[1:])]


def ratio_under(ceilings, flops, moved_bytes, seconds):
    """Measured time over (c^2 + m^2)^(1/2) + floor; `ceilings` are FLOP/s, bytes/s, seconds."""
    matrix, memory, floor = ceilings
    return seconds / (math.hypot(flops / matrix, moved_bytes / memory) + floor)
