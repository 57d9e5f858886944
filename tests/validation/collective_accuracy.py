"""Predicted times of collectives compared with published ones.

Sizes from 1 MiB up unless said otherwise. Points of a model are never scored against themselves.
"""

from statistics import median
from typing import NamedTuple

from error_summary import summary_of
from kernel_rows import integer, real
from kernel_scores import ERROR_COLUMNS, TIME_COLUMNS, error_cells, interval_cells, pair
from tables import Table, grouped

LARGE_BYTES = 1 << 20
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",
              "send_receive")
COMPARISONS = (
    "sizes not kept",  # the reference tables: sizes of their own measurement that they left out
    "below 1 MiB",  # the same below 1 MiB
    "other versions",  # the reference tables: all sizes, measured with another version of NCCL
    "half of the sizes",  # a model of every other size of a table: the sizes between
)
NOISE = ("repeats", "versions")
COLUMNS = ["calls:", *TIME_COLUMNS, *(f"link rate: {column}" for column in ERROR_COLUMNS)]


class Measured(NamedTuple):
    """One operation on one GPU by one version of the library: seconds of repeats, by ranks and
    bytes."""

    gpu: str
    op: str
    version: str
    samples: dict


def tables_of(rows):
    """Tables by GPU, operation and version, and how many rows they hold."""
    found = {}
    count = 0
    for row in rows:
        op = row.get("op", "").replace("alltoall", "all_to_all")
        if row.get("library") != "nccl" or row.get("dtype") != "fp16" or op not in OPERATIONS:
            continue
        count += 1
        samples = found.setdefault((row["gpu"], OPERATIONS.index(op), row["table_version"]), {})
        call = integer(row, "gpus"), integer(row, "message_bytes")
        samples.setdefault(call, []).append(real(row, "seconds"))
    return [Measured(gpu, OPERATIONS[op], version, dict(sorted(samples.items())))
            for (gpu, op, version), samples in sorted(found.items())], count


def is_in_half(size):
    """Every other power of 2, the largest published (2^29) among them."""
    return size.bit_length() % 2 == 0


def is_compared(comparison, own, kept, size):
    large = size >= LARGE_BYTES
    return {"sizes not kept": own and large and size not in kept,
            "below 1 MiB": own and not large and size not in kept,
            "other versions": not own and large,
            "half of the sizes": large and not is_in_half(size)}[comparison]


def cells_of(found):
    """`found` are a predicted [expected, low, high], the measured time, and that at the link's
    rate."""
    link_rate = summary_of([link / seconds - 1 for _, seconds, link in found])
    return [*interval_cells([each[:2] for each in found]), *error_cells(link_rate)]


def compare(fits, comparison, table):
    """The calls of one comparison, as cells_of() takes them."""
    reference = fits.ask("collective_reference", gpu=table.gpu)
    own = table.version == reference["version"]
    points = None
    if comparison == "half of the sizes":
        points = [[*call, median(seconds)] for call, seconds in table.samples.items()
                  if is_in_half(call[1])]
    calls = [call for call in table.samples
             if is_compared(comparison, own, reference["sizes"], call[1])]
    answer = fits.ask("collective_times", gpu=table.gpu, op=table.op, points=points, calls=calls)
    return [(time, median(table.samples[call]), link)
            for call, time, link in (zip(calls, answer["times"], answer["link_rate"])
                                     if answer else ()) if time]


def compared(fits, tables):
    """What is found by comparison and table, in the order of the report."""
    every = ((each, table, compare(fits, each, table)) for each in COMPARISONS for table in tables)
    return [found for found in every if found[2]]


def noise_of(tables):
    """By GPU and operation: how far repeats are from the median of their table, and the slowest
    version's median from the fastest's."""
    for (gpu, op), alike in grouped(tables, lambda table: (table.gpu, table.op)).items():
        repeats, medians = [], {}
        for call, samples in (each for table in alike for each in table.samples.items()):
            if call[1] >= LARGE_BYTES:
                medians.setdefault(call, []).append(median(samples))
                if len(samples) > 1:
                    repeats += [sample / median(samples) - 1 for sample in samples]
        versions = [max(seconds) / min(seconds) - 1 for seconds in medians.values()
                    if len(seconds) > 1]
        yield gpu, op, repeats, versions


def collective_table(found, tables):
    """Errors of each comparison by GPU, all GPUs last; by operation and version; and how far
    repeats and versions are from one another."""
    sums = {}
    for comparison, table, calls in found:
        for gpu in (table.gpu, "~"):
            sums.setdefault((COMPARISONS.index(comparison), gpu), []).extend(calls)
    rows = [[COMPARISONS[comparison], gpu.replace("~", "all"), "all", "all", *cells_of(calls)]
            for (comparison, gpu), calls in sorted(sums.items())]
    rows += [[comparison, table.gpu, table.op, table.version, *cells_of(calls)]
             for comparison, table, calls in found]
    for gpu, op, *noise in noise_of(tables):
        for name, errors in zip(NOISE, noise):
            if errors:
                rows.append([name, gpu, op, "all", str(len(errors)), *pair(summary_of(errors)),
                             *[""] * (len(COLUMNS) - 3)])
    return Table(["comparison", "GPU", "operation", "NCCL", *COLUMNS], rows)
