#!/usr/bin/python3
"""Scores of kernels on made rows: the errors are computed again here."""

import math
import random
import statistics

from collective_accuracy import OPERATIONS, compared, noise_of, tables_of
from fits import Fits
from kernel_rows import Matmul, integer, real
from kernel_scores import SCORES, Roofline, Work, best_roofline, datasheet_roofline, score_cells
from make_attention_reference import spread
from matmul_accuracy import DOMAIN, matmul_scores

MIB = 1 << 20
ANCHORS = [Matmul(m, n, k) for m in (1, 16, 64, 256, 1024, 4096, 8192)
           for n in (1024, 4096, 16384) for k in (1024, 4096, 16384)]


def fails_naming(word, function, *arguments):
    try:
        function(*arguments)
    except ValueError as error:
        assert word in str(error), error
        return
    raise AssertionError(f"no error names {word}")


def check_rooflines(fits):
    roofline = Roofline(10, 5)
    assert roofline.seconds(Work(100, 30, 0)) == 10
    assert roofline.seconds(Work(100, 300, 0)) == 60
    assert best_roofline([Work(100, 10, 2), Work(10, 100, 4)]) == Roofline(50, 25)
    assert datasheet_roofline(fits, "h100-sxm", "bf16") == Roofline(989.4e12, 3350e9)
    assert datasheet_roofline(fits, "a100-sxm-80", "fp8") is None
    assert datasheet_roofline(fits, "abacus", "bf16") is None


def check_scores():
    """Predicted 1.1 and 0.8 of what was measured; the second outside its interval."""
    cells = score_cells(("gpu", "bf16", "kernel", "all"), 7, (None, Roofline(1, 1)),
                        [(Work(1, 0.5, 2), [2.2, 2, 2.4]), (Work(1, 5, 10), [8, 7, 9])])
    # By the best rates both are half as long as measured.
    assert cells == ["gpu", "bf16", "kernel", "all", "7", "2", "15.0", "20.0", "0", "-5.0", "50",
                     "-", "-", "50.0", "50.0"], cells


def check_spread():
    """On a line, around 4: 5 is nearest, then the ends 0 and 10, then 2 (2 from 0, as far as 8 from
    10, but first), then 8."""
    line = [(x, 0, 0) for x in (5, 0, 10, 2, 8, 9.5)]
    assert spread(line, (4, 0, 0), 3) == [0, 1, 2]
    assert spread(line, (4, 0, 0), 5) == [0, 1, 2, 3, 4]
    axes = [(0, 0, 0), (2, 0, 0), (0, 3, 0), (0, 0, 4)]
    assert spread(axes, (0, 0, 0), 4) == [0, 3, 2, 1]
    assert spread([(1, 1, 1)] * 2, (0, 0, 0), 5) == [0, 1] and spread([], (0, 0, 0), 5) == []


def law(m, n, k):
    """Seconds of a device of 7e14 FLOP/s and 2.5e12 bytes/s that adds them, and 5 us."""
    return 2 * m * n * k / 7e14 + 2 * (m * k + n * k + m * n) / 2.5e12 + 5e-6


def matmul_row(shape, seconds):
    return {"gpu": "h100-sxm", "dtype": "bf16", "framework": "made", "framework_version": "1",
            **{name: str(size) for name, size in shape._asdict().items()}, "seconds": repr(seconds)}


def check_matmuls(fits):
    draw = random.Random(2)
    drawn = {Matmul(*(int(2 ** draw.uniform(low, 14)) for low in (4, 10, 10))) for _ in range(300)}
    unseen = sorted(shape for shape in drawn - set(ANCHORS) if shape.m <= 8192)
    rows = [matmul_row(shape, law(*shape)) for shape in ANCHORS + unseen]
    scores, left_out = matmul_scores(rows, fits)
    assert not left_out
    row = dict(zip(SCORES[1:], next(each for each in scores if each[3] == DOMAIN)))
    # No shape of the list of checks is there, and none of the points but the anchors.
    assert row["points:"] == "63" and row["scored:"] == str(len(unseen)), row
    assert float(row["median %:"]) < 2 and float(row["p90 %:"]) < 6, row
    errors = [1 - max(2 * m * n * k / 989.4e12, 2 * (m * k + n * k + m * n) / 3.35e12)
              / law(m, n, k) for m, n, k in unseen]
    assert row["datasheet roofline median %:"] == f"{100 * statistics.median(errors):.1f}", row


def check_faults(fits):
    row = matmul_row(ANCHORS[0], 1e-3)
    assert matmul_scores([row], fits)[1][0].startswith("h100-sxm bf16 made 1: 1 rows, ")
    fails_naming("seconds", matmul_scores, [{**row, "seconds": ""}], fits)
    fails_naming("m:", integer, {"m": "x"}, "m")
    fails_naming("seconds", real, {}, "seconds")


def call(version, size, seconds):
    return {"gpu": "h100-sxm", "library": "nccl", "table_version": version, "op": "alltoall",
            "dtype": "fp16", "gpus": "8", "message_bytes": str(size), "seconds": repr(seconds)}


def check_tables_of_collectives():
    row = call("1", MIB, 1e-3)
    tables, count = tables_of([row, {**row, "dtype": "int8"},
                               {**row, "library": "vllm_allreduce_graph"}])
    assert count == 1 and [table.op for table in tables] == ["all_to_all"]
    assert len(OPERATIONS) == 6
    for column in ("gpus", "message_bytes", "seconds"):
        fails_naming(column, tables_of, [{**row, column: "many"}])


def errors_of(fits, rows):
    """Predicted over measured, less 1, of every call, by comparison."""
    return {comparison: [time[0] / seconds - 1 for time, seconds, _ in calls]
            for comparison, _, calls in compared(fits, tables_of(rows)[0])}


def check_collectives(fits):
    own = fits.ask("collective_reference", gpu="h100-sxm")["version"]
    predicted = fits.ask("collective_times", gpu="h100-sxm", op="all_to_all", points=None,
                         calls=[[8, 64 * MIB]])["times"][0][0]
    # 64 MiB was left out of the reference tables, 32 MiB kept: only the first may be scored.
    rows = [call(own, 64 * MIB, predicted), call(own, 32 * MIB, 1.0)]
    assert errors_of(fits, rows) == {"sizes not kept": [0]}
    # Every size of other versions from 1 MiB up.
    found = errors_of(fits, [call("1", size, 1.0) for size in (32 * MIB, 64 * MIB, 512)])
    assert "sizes not kept" not in found and "below 1 MiB" not in found
    assert len(found["other versions"]) == 2 and max(found["other versions"]) < -0.99
    # 2^21 and 2^23 are points, 2^22 between them is scored: 30 us is the line's, 40 is measured.
    found = errors_of(fits, [call("1", 2 * MIB, 20e-6), call("1", 4 * MIB, 40e-6),
                             call("1", 8 * MIB, 50e-6)])
    error, = found["half of the sizes"]
    assert math.isclose(error, 30 / 40 - 1)


def check_noise():
    rows = [call("1", MIB, seconds) for seconds in (1e-3, 2e-3, 3e-3)] + [call("2", MIB, 4e-3)]
    (_, _, repeats, versions), = noise_of(tables_of(rows)[0])
    assert sorted(repeats) == [-0.5, 0, 0.5] and versions == [1], (repeats, versions)


if __name__ == "__main__":
    check_scores()
    check_spread()
    check_tables_of_collectives()
    check_noise()
    with Fits() as asked:
        check_rooflines(asked)
        check_matmuls(asked)
        check_faults(asked)
        check_collectives(asked)
