"""Predictions of matrix multiplications against published times.

Every GPU, type and library of the table by the points of the standard grid that are in it; all
other rows are scored. Then each by 18 shapes alone, as a processor's standard grid has, and every
type of a GPU by the points of every other.
"""

from kernel_rows import (Matmul, Point, asked, in_even_half, in_matmul_domain, matmul_table,
                         others)
from kernel_scores import Work, best_roofline, datasheet_roofline, ratio_under, score_cells

DOMAIN = "m to 8192, n and k 1024 to 16384"
DOMAINS = {
    DOMAIN: in_matmul_domain,
    "- of these, even": lambda s: in_matmul_domain(s) and in_even_half(s),
    "- of these, odd": lambda s: in_matmul_domain(s) and not in_even_half(s),
    "n or k outside 1024 to 16384": lambda s: not in_matmul_domain(s._replace(m=1)),
    "m above 8192": lambda s: s.m > 8192 and in_matmul_domain(s._replace(m=1)),
    "all": lambda _: True,
}
# Three counts of rows, and six pairs of n and k.
FEW_ROWS = (16, 256, 1024)
FEW_SIZES = ((1024, 1024), (1024, 4096), (4096, 1024), (4096, 4096), (4096, 16384), (16384, 4096))
AMONG_FEW = ("18 points, m 16 to 1024, n and k 1024 to 16384",
             lambda s: 16 <= s.m <= 1024 and in_matmul_domain(s))
LARGE_BYTES = 5e7  # from here on products are of memory rather than of a cache


def work_of(point, element_bytes):
    """Operands read and the bf16 result written once; quantising x is not in a roofline."""
    m, n, k = map(float, point.shape)
    return Work(2.0 * m * n * k, element_bytes * k * (m + n) + 2 * m * n, point.seconds)


class Fitted:
    """A table's model, and what it has not seen; `error` says why there is none."""

    def __init__(self, fits, key, points, *, chosen=None, wanted=()):
        """By the points `chosen`, else by those of the standard grid; `wanted` are times in other
        types."""
        gpu, dtype, _ = self.key = key
        answer = fits.ask("matmul_times", gpu=gpu, type=dtype, choose=chosen is None,
                          points=asked(chosen or points), others=list(wanted),
                          shapes=[point.shape for point in points])
        self.error = answer.get("error")
        if self.error:
            return
        device = fits.ask("device", gpu=gpu, type=dtype)
        self.element_bytes = device["element_bytes"] if device else 2
        self.form = answer["form"]
        self.measured = [Point(Matmul(*shape), seconds) for shape, seconds in answer["measured"]]
        self.unseen = others(points, self.measured)
        self.times = {point.shape: time for point, time in zip(points, answer["times"])}
        self.in_other_types = answer["others"]
        self.rooflines = (datasheet_roofline(fits, gpu, dtype),
                          best_roofline([work_of(point, self.element_bytes)
                                         for point in self.measured]))

    def score(self, kernel, domain, holds, times, points):
        """None where no row is in the domain; `points` made `times`."""
        gpu, dtype, _ = self.key
        predicted = [(work_of(point, self.element_bytes), times[point.shape])
                     for point in self.unseen if holds(point.shape)]
        return predicted and score_cells((gpu, dtype, kernel, domain), points, self.rooflines,
                                      predicted)

    def own(self, domain, holds):
        return self.score(f"{self.key[2]}, {self.form}", domain, holds, self.times,
                          len(self.measured))


def peak_ratios(fits, keys):
    """Peaks of the other types of each key's GPU over its own."""
    peaks = {(gpu, dtype): datasheet_roofline(fits, gpu, dtype) for gpu, dtype, _ in keys}
    return {(by, of): peaks[of[:2]].flops_per_second / peaks[by[:2]].flops_per_second
            for by in keys for of in keys
            if by[0] == of[0] and by != of and peaks[of[:2]] and peaks[by[:2]]}


def matmul_scores(rows, fits):
    """Scores, and why tables were left out."""
    table = matmul_table(rows)
    ratios = peak_ratios(fits, list(table))
    inside = {key: [point.shape for point in points if in_matmul_domain(point.shape)]
              for key, points in table.items()}
    fitted, left_out = [], []
    for key, points in table.items():
        wanted = [of for by, of in ratios if by == key]
        model = Fitted(fits, key, points, wanted=[
            {"type": of[1], "peak_ratio": ratios[key, of], "shapes": inside[of]}
            for of in wanted])
        if model.error:
            left_out.append(f"{' '.join(key)}: {len(points)} rows, {model.error}")
            continue
        model.in_other_types = dict(zip(wanted, model.in_other_types))
        fitted.append(model)
    scores = [of.own(*domain) for of in fitted for domain in DOMAINS.items()]
    for key, points in table.items():
        few = [point for point in points
               if point.shape.m in FEW_ROWS and point.shape[1:] in FEW_SIZES]
        model = few and Fitted(fits, key, points, chosen=few)
        if model and not model.error:
            scores.append(model.own(*AMONG_FEW))
    for of in fitted:
        for by in fitted:
            if of.key in by.in_other_types:
                times = dict(zip(inside[of.key], by.in_other_types[of.key]))
                scores.append(of.score(f"from {by.key[1]}", DOMAIN, in_matmul_domain, times,
                                       len(by.measured)))
    return list(filter(None, scores)), left_out


def best_rates(works):
    """The best rates that the table has of a device and type, and its shortest time."""
    large = [work.bytes / work.seconds for work in works if work.bytes >= LARGE_BYTES]
    return (max(work.flops / work.seconds for work in works), max(large, default=0),
            min(work.seconds for work in works))


def matmul_ceilings(rows, fits):
    """Measured over (c^2 + m^2)^(1/2) + floor in the domain, over all devices of the table, by the
    ceilings' source and the type."""
    ratios = {(source, dtype): [] for source in ("best rates", "datasheet")
              for dtype in ("bf16", "fp8")}
    for (gpu, dtype, _), points in matmul_table(rows).items():
        if ("datasheet", dtype) not in ratios:
            continue
        device = fits.ask("device", gpu=gpu, type=dtype)
        works = [work_of(point, device["element_bytes"]) for point in points]
        for source, ceilings in (("best rates", best_rates(works)),
                                 ("datasheet", device["ceilings"])):
            ratios[source, dtype] += [ratio_under(ceilings, *work)
                                      for point, work in zip(points, works)
                                      if ceilings and in_matmul_domain(point.shape)]
    return {key: values for key, values in ratios.items() if values}
