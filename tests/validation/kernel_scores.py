"""How well the times of one kernel are predicted, and tables of that."""

import math
from typing import NamedTuple

from error_summary import between, summary_of
from kernel_rows import times_of


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


# Errors are predicted over measured time, less 1; intervals aim at 80 %.
ERROR_COLUMNS = ["median %:", "p90 %:", "within 10 %:", "bias %:"]
TIME_COLUMNS = [*ERROR_COLUMNS, "in interval %:"]


def pair(errors):
    return ([f"{100 * errors.median:.1f}", f"{100 * errors.p90:.1f}"] if errors.count
            else ["-", "-"])


def error_cells(errors):
    return [*pair(errors), f"{100 * errors.within_10:.0f}", f"{100 * errors.median_signed:+.1f}"]


def interval_cells(times):
    """`times` are pairs of a predicted [expected, low, high] and what was measured."""
    errors = summary_of([time[0] / seconds - 1 for time, seconds in times])
    inside = sum(low <= seconds <= high for (_, low, high), seconds in times)
    return [str(errors.count), *error_cells(errors), f"{100 * inside / max(1, errors.count):.0f}"]


# "table" is of kernels, and of the rows among which a calibration is picked.
SCORES = ["table", "GPU", "type", "kernel", "shapes", "points:", "scored:", *TIME_COLUMNS,
          *(f"{roofline} roofline {part} %:" for roofline in ("datasheet", "measured-peak")
            for part in ("median", "p90"))]


def score_cells(names, points, rooflines, predicted):
    """A row of SCORES, without the first column. `names` are the next four, `points` the number of
    a calibration's, of which none is scored, `rooflines` that of the datasheet, or None, and of the
    best rates among the points, `predicted` pairs of a work and its predicted [expected, low,
    high]."""
    def cells(roofline):
        return pair(summary_of([roofline.seconds(work) / work.seconds - 1 for work, _ in predicted]
                               if roofline else []))
    times = [(time, work.seconds) for work, time in predicted]
    return [*names, str(points), *interval_cells(times), *cells(rooflines[0]), *cells(rooflines[1])]


class Lacks:
    """Measured over expected time of shapes that a model's points lack, by what these lack."""

    def __init__(self):
        self.times = {}  # pairs of the predicted and the measured time

    def ask(self, fits, question, calibration, lacking, **more):
        """Adds times by a model of `calibration`; `lacking` are pairs of a lack and the points that
        have it."""
        every = [point for _, points in lacking for point in points]
        if not every:
            return
        times = iter(times_of(fits, question, calibration, every, **more))
        for lack, points in lacking:
            self.times.setdefault(lack, []).extend(
                (time, point.seconds) for point, time in zip(points, times))

    def rows(self, kernel):
        """Rows of RATIOS."""
        return [["a calibration", kernel, "", lack,
                 *ratio_cells([seconds / time[0] for time, seconds in found]),
                 interval_cells(found)[-1]]
                for lack, found in sorted(self.times.items()) if found]


# What the expected time is of, then the rows: what a calibration lacks, the source of ceilings, or
# a layer's rows per expert or GPU.
RATIOS = ["expected by", "kernel", "type", "of", "shapes:", "measured over expected: p10:",
          "median:", "p90:", "in interval %:"]


def ratio_cells(ratios):
    """Of measured over predicted times: their number, and quantiles linear between ranks."""
    ordered = sorted(ratios)
    return [str(len(ordered)), *(f"{between(ordered, share):.2f}" for share in (0.1, 0.5, 0.9))]


def ratio_under(ceilings, flops, moved_bytes, seconds):
    """Measured time over (c^2 + m^2)^(1/2) + floor; `ceilings` are FLOP/s, bytes/s, seconds."""
    matrix, memory, floor = ceilings
    return seconds / (math.hypot(flops / matrix, moved_bytes / memory) + floor)
