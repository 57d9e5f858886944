"""What the steps write: facts, one JSON object a line, and tables as CSV. Each line is on the disk
before the next is measured, so that a step that is stopped leaves what it had."""

import csv
import json
import math
import statistics
import time


class TimeLimit:
    """The seconds that a step may still take."""

    def __init__(self, seconds, clock=time.monotonic):
        self._clock = clock
        self._end = clock() + seconds

    def left(self):
        return self._end - self._clock()

    def over(self):
        return self.left() <= 0


def add_fact(path, fact, **values):
    """Appends a fact to the file; `fact` says what it is of."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"fact": fact, **values}) + "\n")


def read_facts(path, only=None):
    """The facts of the file, `only` those of one where it is given; none where there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            facts = [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []
    return [fact for fact in facts if only in (None, fact["fact"])]


class Table:
    """A CSV file that rows are added to, below those that it has. Cells that a row lacks are
    empty."""

    def __init__(self, path, columns):
        self._file = open(path, "a", encoding="utf-8", newline="")
        self._writer = csv.DictWriter(self._file, columns, restval="", lineterminator="\n")
        if self._file.tell() == 0:
            self._writer.writeheader()
            self._file.flush()
        self.row_count = 0

    def add(self, **cells):
        self._writer.writerow({name: cell_text(value) for name, value in cells.items()})
        self._file.flush()
        self.row_count += 1


def cell_text(value):
    if isinstance(value, float):
        return f"{value:.9g}"
    return "" if value is None else str(value)


def read_table(path):
    """The rows of a CSV file as dictionaries of text; none where there is no file."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        return []


def quantile(values, share):
    """Linear between the two order statistics, as docs/probe.md has it."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def summary_of(seconds):
    """Median, 10th and 90th percentile, and number of samples, as cells."""
    if not seconds or not all(math.isfinite(s) and s > 0 for s in seconds):
        raise ValueError(f"times that are not times: {seconds}")
    return {"seconds": statistics.median(seconds), "p10_seconds": quantile(seconds, 0.1),
            "p90_seconds": quantile(seconds, 0.9), "sample_count": len(seconds)}


def range_over_median(values):
    """Largest less smallest, over the median: how far repeats are apart."""
    return (max(values) - min(values)) / statistics.median(values)
