"""Predictions of layers of experts against published times, the cost of gaps in a calibration, and
layers compared with the sum of their parts."""

from bisect import bisect_right
from itertools import groupby

from kernel_rows import expert_pick, others, times_of
from kernel_scores import Lacks, Work, best_roofline, datasheet_roofline, score_cells

MIN_POINTS = 16  # GroupedMatmulModel::kMinPoints
MANY_ROWS = 400  # of a table, so that its middle alone makes a calibration
# What a model knows of the sizes by which others are held out: GroupedMatmulModel::kOctaveOutside
# is derived from these.
AXES = (("rows an expert", lambda point: point.work["rows_per_expert"], 16, 256),
        ("experts on the device", lambda point: experts_here(point.shape), 4, 65))
REACHED_BANDWIDTH = 0.80  # of the datasheet's, as published copies reach
PERMUTED_BYTES = 10  # per element of a row: read, write, read, sum
# Published layers go over all tokens of the expert-parallel group, which training does not: up to
# this size it shows little, and at 256 it is most of the time.
LARGEST_GROUP = 4
ROW_LIMITS = (64, 256, 1024, 4096)


def experts_here(shape):
    return shape.experts // shape.expert_parallel


def work_of(point, weight_bytes):
    """The least that memory carries: weights, and every row's input and output in bf16."""
    tokens = 4 * point.work["rows"] * float(point.shape.hidden)
    return Work(point.work["flops"], point.work["weights"] * weight_bytes + tokens, point.seconds)


def pick_and_rest(points):
    picked = expert_pick(points)
    return [(picked, others(points, picked))]


def either_half(points):
    """A shape that was measured twice goes to one half as its first row."""
    first = [next(alike) for _, alike in groupby(points, lambda point: point.shape)]
    return [(first[::2], first[1::2]), (first[1::2], first[::2])]


def expert_scores(table, fits, splits_of=pick_and_rest):
    """Scores, and why tables were left out; `splits_of` points gives calibrations and the rows that
    each is scored by."""
    scores, left_out = [], []
    for key, points in table.items():
        gpu, dtype, _ = key
        splits = splits_of(points)
        if len(splits[0][0]) < MIN_POINTS:
            left_out.append(f"{' '.join(key)}: {len(points)} rows, too few")
            continue
        weight_bytes = fits.ask("device", gpu=gpu, type=dtype)["element_bytes"]
        rooflines = (datasheet_roofline(fits, gpu, dtype),
                     best_roofline([work_of(point, weight_bytes) for point in splits[0][0]]))
        predicted = []
        for calibration, scored in splits:
            times = times_of(fits, "expert_times", calibration, scored)
            predicted += [(work_of(point, weight_bytes), time)
                          for point, time in zip(scored, times)]
        scores.append(score_cells((*key, "all"), len(splits[0][0]), rooflines, predicted))
    return scores, left_out


def expert_lacks(table, fits):
    lacks = Lacks()
    for points in table.values():
        for name, size, least, below in AXES if len(points) >= MANY_ROWS else ():
            def chosen(low, high):
                return [point for point in points if low <= size(point) < high]
            questions = [(f"{name}: nothing", chosen(least, below))]
            for octave in range(1, 5):
                factor = 1 << octave
                questions += [
                    (f"{name}: {octave} octaves below",
                     chosen(least / factor, 2 * least / factor)),
                    (f"{name}: {octave} octaves above",
                     chosen(below * factor / 2, below * factor))]
            lacks.ask(fits, "expert_times", expert_pick(questions[0][1]), questions)
    return lacks


def rows_text(rows):
    place = bisect_right(ROW_LIMITS, rows)
    if place == len(ROW_LIMITS):
        return f"{ROW_LIMITS[-1]} rows and more"
    return f"{(0, *ROW_LIMITS)[place]} to {ROW_LIMITS[place]} rows"


def layers_over_parts(table, fits):
    """Measured time of a layer over

      product(rows, 2 f, h) + product(rows, h, f) + (10 h + 6 f) rows / (0.80 bandwidth)

    of rows whose tokens are of at most 4 devices, by type and rows per expert, by type and GPU, and
    by type alone. The products are GroupedMatmulPredictor::PredictProduct()'s without the median of
    ErrorOfGroupedProducts(), which is derived from these figures; the bytes are those of permuting,
    summing and activating a row in bf16; without a gate, f and 4 f replace 2 f and 6 f. The scores
    of the router are inputs of the published layers.
    """
    ratios = {}
    for (gpu, dtype, _), points in table.items():
        device = fits.ask("device", gpu=gpu, type=dtype)
        gated = points[0].shape.gated
        kept = [point for point in points if point.shape.expert_parallel <= LARGEST_GROUP]
        products = []
        for point in kept:
            shape, rows = point.shape, point.work["rows_per_expert"]
            here = experts_here(shape)
            products += [[here, rows, (1 + gated) * shape.intermediate, shape.hidden],
                         [here, rows, shape.hidden, shape.intermediate]]
        answer = fits.ask("expert_products", gpu=gpu, type=dtype, gated=bool(gated),
                          products=products)
        if not answer or not device["bytes_per_second"]:
            continue
        memory = REACHED_BANDWIDTH * device["bytes_per_second"]
        seconds = [each / answer["factor"] for each in answer["seconds"]]
        for point, first, second in zip(kept, seconds[::2], seconds[1::2]):
            shape = point.shape
            moved = PERMUTED_BYTES * float(shape.hidden) + 2 * float(
                (2 + gated) * shape.intermediate)
            parts = first + second + moved * point.work["rows"] / memory
            for name in (rows_text(point.work["rows_per_expert"]), gpu, "all"):
                ratios.setdefault(f"{dtype}, {name}", []).append(point.seconds / parts)
    return dict(sorted(ratios.items()))
