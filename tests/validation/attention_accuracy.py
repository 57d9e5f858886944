"""Predictions of attention against published times, and the cost of gaps in a calibration.

Every kernel of the table (attention or latent attention) by a calibration of its own points; all
other rows are scored. Gaps: models of sequences of 2048 to 6144 and 16 to 256 heads in the batch
alone, asked for others; of one head size, or two, asked for another; of no window, asked for one;
of one mask, asked for the other, also of another kernel of the same framework, as a reference joins
them; of another mask with and without the head size asked for. AttentionFallbacks are derived from
these.
"""

from kernel_rows import attention_pick, kinds_of, others, times_of
from kernel_scores import (Lacks, Work, best_roofline, datasheet_roofline, ratio_under,
                           score_cells)

MIN_POINTS = 8  # AttentionModel::kMinPoints
MANY_ROWS = 400  # of a kind, so that its middle alone makes a calibration
DOMAIN = "sequence 2048 to 16384"
DOMAINS = {DOMAIN: (2048, 16384), "all": (0, 1 << 40)}
SEQUENCES = {"sequence: 1 octave below": (1024, 1024),
             "sequence: up to 1 octave above": (6145, 12288),
             "sequence: 1.4 octaves above": (16384, 16384)}
HEAD_COUNTS = {"batch x heads: up to 1 octave below": (8, 15),
               "batch x heads: 2 octaves below": (4, 7),
               "batch x heads: up to 1 octave above": (257, 512),
               "batch x heads: up to 2 octaves above": (513, 1024),
               "batch x heads: 3 octaves above and more": (2049, 1 << 20)}


def within(value, limits):
    return limits[0] <= value <= limits[1]


def work_of(point, dtype):
    """Queries, keys and values in the type; outputs in bf16 are left out."""
    size = 2 if dtype == "bf16" else 1
    return Work(point.work["flops"], point.work["elements"] * size, point.seconds)


def split(name, points, pick, left_out):
    """A calibration's points, and those that are scored."""
    calibration, scored = [], []
    for like in kinds_of(points):
        picked = pick(like)
        if len(picked) < MIN_POINTS:
            size = like[0].shape.head_dim
            left_out.append(f"{name}, head size {size}: {len(like)} rows, too few")
            continue
        calibration += picked
        scored += others(like, picked)
    return calibration, scored


def attention_scores(table, fits, pick=attention_pick, domains=tuple(DOMAINS)):
    """Scores, and why tables were left out."""
    scores, left_out = [], []
    for key, points in table.items():
        gpu, dtype, _ = key
        device = fits.ask("device", gpu=gpu, type=dtype)
        if not device or not device["compute_units"]:
            left_out.append(f"{' '.join(key)}: multiprocessors of this device are not known")
            continue
        calibration, scored = split(" ".join(key), points, pick, left_out)
        if not calibration:
            continue
        times = times_of(fits, "attention_times", calibration, scored, gpu=gpu)
        rooflines = (datasheet_roofline(fits, gpu, dtype),
                     best_roofline([work_of(point, dtype) for point in calibration]))
        for domain in domains:
            predicted = [(work_of(point, dtype), time) for point, time in zip(scored, times)
                         if within(point.shape.seq_len, DOMAINS[domain])]
            scores.append(score_cells((*key, domain), len(calibration), rooflines, predicted))
    return scores, left_out


def lack_between(of, asked_for):
    """The gap between a model of one kind and a request for another; empty: not of interest."""
    if of.window:
        return ""
    size, other = of.head_dim, asked_for.head_dim
    if of.causal != asked_for.causal:
        measured = "none" if asked_for.causal else "causal"
        return f"mask: {measured} measured" if size == other and not asked_for.window else ""
    if asked_for.window:
        return f"window {asked_for.window}" if size == other else ""
    for octaves in (1, 2):
        if other == size << octaves:
            return f"head size {octaves} octaves larger"
        if size == other << octaves:
            return f"head size {octaves} octaves smaller"
    return ""


def long(points):
    return [point for point in points if within(point.shape.seq_len, DOMAINS[DOMAIN])]


# Each yields a calibration of one kernel, and pairs of a lack and the points that have it.


def outside(like):
    def chosen(tokens, heads):
        return [point for point in like if within(point.shape.seq_len, tokens)
                and within(point.shape.batch * point.shape.heads, heads)]
    tokens, heads = (2048, 6144), (16, 256)
    middle = chosen(tokens, heads)
    yield attention_pick(middle), [
        ("nothing", middle),
        *((name, chosen(band, heads)) for name, band in SEQUENCES.items()),
        *((name, chosen(tokens, band)) for name, band in HEAD_COUNTS.items())]


def between_kinds(kinds, others_kinds, suffix=""):
    """Of another kernel, which the suffix says, masks alone."""
    for like in kinds:
        gaps = [(lack_between(like[0].shape, other[0].shape), long(other))
                for other in others_kinds]
        yield attention_pick(like), [(lack + suffix, points) for lack, points in gaps
                                     if lack and (lack.startswith("mask") or not suffix)]


def between_sizes(kinds):
    """A model of the head sizes around each."""
    causal = [like for like in kinds if like[0].shape.causal and not like[0].shape.window]
    for below, middle, above in zip(causal, causal[1:], causal[2:]):
        yield (attention_pick(below) + attention_pick(above),
               [("head size between two", long(middle))])


def windows(kinds):
    """A model of every head size without a window, and of this window with one head size, asked for
    the window with another: the head size is nearer without the window than with it."""
    without = [point for like in kinds if not like[0].shape.window
               for point in attention_pick(like)]
    for known in kinds:
        for other in kinds:
            a, b = known[0].shape, other[0].shape
            if without and a.window and a.window == b.window and a.head_dim != b.head_dim:
                yield (attention_pick(known) + without,
                       [("window of a head size that is measured without it", long(other))])


def of_one_framework(a, b):
    """True for different kernels of one GPU, type, framework and its version."""
    return a != b and a[:2] == b[:2] and a[2].split(" ")[:2] == b[2].split(" ")[:2]


def gaps_of(key, points, table):
    kinds = kinds_of(points)
    for like in kinds:
        if len(like) >= MANY_ROWS and not like[0].shape.window:
            yield from outside(like)
    yield from between_kinds(kinds, kinds)
    yield from between_sizes(kinds)
    yield from windows(kinds)
    for other, other_points in table.items():
        if of_one_framework(key, other):
            yield from between_kinds(kinds, kinds_of(other_points), ", by another kernel")


def attention_lacks(table, fits):
    lacks = Lacks()
    for key, points in table.items():
        device = fits.ask("device", gpu=key[0], type=key[1])
        if device and device["compute_units"]:
            for calibration, lacking in gaps_of(key, points, table):
                lacks.ask(fits, "attention_times", calibration, lacking, gpu=key[0])
    return lacks


def attention_ceilings(table, fits):
    """Measured over (c^2 + m^2)^(1/2) + floor, by type: causal attention without a window by the
    kernels that are nearest to training's."""
    ratios = {}
    for (gpu, dtype, kernel), points in table.items():
        if not kernel.startswith("sglang ") or not kernel.endswith(
                (" fa3", " trtllm_mha", " flash_attention")):
            continue
        device = fits.ask("device", gpu=gpu, type=dtype)
        for point in points if device and device["ceilings"] else []:
            if point.shape.causal and not point.shape.window and long([point]):
                moved = point.work["elements"] * device["element_bytes"]
                ratios.setdefault(dtype, []).append(
                    ratio_under(device["ceilings"], point.work["flops"], moved, point.seconds))
    return ratios
