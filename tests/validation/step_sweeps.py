"""Layouts of one model: whether predictions put them in the order that was measured, how far they
could, and what a measured step of one layout says of others."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from random import Random
from statistics import NormalDist, fmean, geometric_mean, median_low, pvariance

from step_score import spearman
from step_study import Case, groups_by

FEWEST_OF_SWEEP = 4
LEAST_SPREAD = 0.05
TIE = 1e-9
SEARCH_TIE = 0.03  # LayoutSearchResult.tie_ratio
USUAL_NOISE = 0.02  # of sources that repeat nothing
DRAWS = 200
SEED = 1
NORMAL = NormalDist()
# What the service does with a measured step: docs/step_time.md, "A measured step".
MEASURED_END = 0.07  # of the interval of a near layout
NEAR_DOUBLINGS = 2
FARTHEST = 16  # likewise
BANDS = ((-1, NEAR_DOUBLINGS), (NEAR_DOUBLINGS, 4), (4, 8), (8, 16))
SIZES = ("tensor", "stages", "chunks", "context", "experts", "data", "micro_batch")
# The predictions that the tables are of.
WAYS = {"family left out": lambda case: case.left_out, "unknown stack": lambda case: case.generic}


@dataclass
class Sweep:
    """Rows of one source, model (of BLOOM's trials: table), device and type, by their time over
    that of their FLOPs at the peak."""

    name: str
    source: str
    framework: str
    rows: int
    spread: float  # measured, the slowest over the fastest less 1
    spearman: float  # of predicted and measured
    # Of the rows that are predicted to be the fastest, on average, over the fastest, less 1.
    cost: float
    # Where the fastest row is by its prediction: as near the least as a search's ties are, and
    # among the three least.
    best_ties: bool
    best_of_three: bool
    # Of the row that is predicted to be the fastest: measured over predicted, over the same of all
    # rows on average, less 1; and whether its interval holds what was measured.
    optimism: float
    covers_first: bool
    # Spearman that a model would reach which knew the mean time of each request, on average, where
    # rows scatter about it as the source's repeats do.
    reachable: float = 0
    # The standard deviation of ln(predicted / measured) in the sweep, and its parts, whose squares
    # add up: of rows of one request about their mean, of frameworks' means, and the rest, of
    # requests' means about their framework's.
    error_spread: float = 0
    noise: float = 0
    framework_spread: float = 0
    rest_spread: float = 0


def log_error(case: Case) -> float:
    return math.log1p(case.error())


def squares(numbers: list[float]) -> float:
    """Of the differences from the mean, added up."""
    return len(numbers) * pvariance(numbers)


def set_error_spread(cases: list[Case], out: Sweep) -> None:
    def within(name):
        return sum(squares(list(map(log_error, group)))
                   for group in groups_by(cases, name).values())

    def spread(total):
        return math.sqrt(max(0.0, total) / len(cases))
    every = squares(list(map(log_error, cases)))
    of_requests = within(lambda case: case.request)
    of_frameworks = within(lambda case: case.row.framework)
    out.error_spread, out.noise = spread(every), spread(of_requests)
    out.framework_spread = spread(every - of_frameworks)
    out.rest_spread = spread(of_frameworks - of_requests)


def noise_of(cases: list[Case]) -> dict[str, float]:
    """The standard deviation of ln(measured) of rows of one request, of each source; times that are
    the same to the last digit are one time, printed again."""
    out = {}
    for source, rows in groups_by(cases, lambda case: case.row.source).items():
        logs = [[math.log(seconds) for seconds in {case.row.measured for case in same}]
                for same in groups_by(rows, lambda case: case.request).values()]
        freedom = sum(map(len, logs)) - len(logs)
        out[source] = math.sqrt(sum(map(squares, logs)) / freedom) if freedom else USUAL_NOISE
    return out


def reachable(cases: list[Case], noise: float) -> float:
    means = {request: geometric_mean([case.row.measured for case in rows])
             for request, rows in groups_by(cases, lambda case: case.request).items()}
    known = [means[case.request] / case.ideal for case in cases]
    random = Random(SEED)

    def drawn(mean):
        return mean * math.exp(noise * NORMAL.inv_cdf(random.random()))
    return sum(spearman(list(map(drawn, known)), known) for _ in range(DRAWS)) / DRAWS


def cost_of_first(measured: list[float], predicted: list[float]) -> float:
    """The mean of `measured` where `predicted` is least."""
    least = min(predicted) * (1 + TIE)
    return fmean(one for one, other in zip(measured, predicted) if other <= least)


def sweep_of(name: str, cases: list[Case]) -> Sweep:
    measured = [case.row.measured / case.ideal for case in cases]
    predicted = [case.predicted.expected / case.ideal for case in cases]
    least = min(measured)
    of_best = predicted[measured.index(least)]
    first = cases[predicted.index(min(predicted))]
    return Sweep(name, cases[0].row.source, cases[0].row.framework, len(cases),
                 spread=max(measured) / least - 1, spearman=spearman(measured, predicted),
                 cost=cost_of_first(measured, predicted) / least - 1,
                 best_ties=of_best <= min(predicted) * (1 + SEARCH_TIE),
                 best_of_three=sum(other < of_best for other in predicted) < 3,
                 optimism=math.exp(fmean(map(log_error, cases)) - log_error(first)) - 1,
                 covers_first=first.predicted.covers(first.row.measured))


def sweeps_of(cases: list[Case]) -> list[Sweep]:
    """Those of four rows or more whose spread exceeds 5 %."""
    out = []
    known = [case for case in cases if case.ideal > 0]
    noise = noise_of(known)
    for name, group in groups_by(known, lambda case: case.row.sweep).items():
        sweep = len(group) >= FEWEST_OF_SWEEP and sweep_of(name, group)
        if sweep and sweep.spread > LEAST_SPREAD:
            sweep.reachable = reachable(group, noise[sweep.source])
            set_error_spread(group, sweep)
            out.append(sweep)
    return out


def distance(one: Case, other: Case) -> float:
    """The doublings between two rows' layouts."""
    a, b = one.row, other.row
    out = sum(abs(math.log2(getattr(a.layout, size) / getattr(b.layout, size))) for size in SIZES)
    same = a.requests[0].training.recompute == b.requests[0].training.recompute
    return out + (0 if same else 2)


def share_by_distance(doublings: float) -> float:
    """The share of a measured step's error that is taken to be another layout's."""
    return max(0.0, 1 - doublings / FARTHEST)


# Others to compare it with, by the names of their columns.
SHARES = {"alone %:": lambda _: 0.0,
          "with the whole error up to 4 doublings %:": lambda doublings: float(doublings <= 4),
          "with the whole error %:": lambda _: 1.0, "with its share %:": share_by_distance}


def kinds(cases: list[Case]) -> dict[str, list[Case]]:
    return groups_by(cases, lambda case: f"{case.row.family} | {case.row.hardware}")


def log_ratio(case: Case, way) -> float:
    """ln(measured / predicted)."""
    return math.log(case.row.measured / way(case).expected)


def set_near_steps(cases: list[Case]) -> None:
    """Sets near_step: the generic prediction of each case as the nearest other case of its model,
    framework, device and type corrects it."""
    way = WAYS["unknown stack"]
    for group in kinds([case for case in cases if case.generic]).values():
        for case in group:
            near = min((other for other in group if other is not case),
                       key=partial(distance, case), default=None)
            if near:
                share = share_by_distance(distance(case, near))
                case.near_step = case.generic.expected * math.exp(share * log_ratio(near, way))


def corrected(case: Case, measured: Case, way, sharing) -> float:
    """ln(measured / predicted) of a step that was predicted with another one's error."""
    return (log_ratio(case, way)
            - sharing(distance(case, measured)) * log_ratio(measured, way))


def covered(case: Case, measured: Case, way) -> bool:
    one, low, high = way(case), -MEASURED_END, MEASURED_END
    if distance(case, measured) > NEAR_DOUBLINGS:
        low, high = math.log(one.low / one.expected), math.log(one.high / one.expected)
    return low <= corrected(case, measured, way, share_by_distance) <= high


def pairs_at(band, cases: list[Case], way) -> list[list[tuple[Case, Case]]]:
    """Pairs of cases with nothing open whose distance is in the band, by kind."""
    closed = [case for case in cases if not case.row.opened and way(case)]
    pairs = ([pair for pair in permutations(group, 2) if band[0] < distance(*pair) <= band[1]]
             for group in kinds(closed).values())
    return list(filter(None, pairs))


def median_error(pairs, way, sharing) -> float:
    """One vote a kind: of the medians of sizes."""
    return median_low([median_low([abs(corrected(*pair, way, sharing)) for pair in of_kind])
                       for of_kind in pairs] or [0.0])


def coverage(pairs, way) -> float:
    """One vote a kind."""
    return fmean([fmean(covered(*pair, way) for pair in of_kind) for of_kind in pairs] or [0])


def cost_of(cases: list[Case], way, sharing) -> float:
    """The mean, over each of `cases` being the measured one, of what the first choice costs. Times
    are over those of the rows' FLOPs at the peak."""
    measured = [case.row.measured / case.ideal for case in cases]

    def predicted(case, known):
        share = 1 if case is known else sharing(distance(case, known))
        return way(case).expected / case.ideal * math.exp(share * log_ratio(known, way))
    costs = (cost_of_first(measured, [predicted(case, known) for case in cases])
             for known in cases)
    return fmean(costs) / min(measured) - 1


def choices(cases: list[Case], way) -> list[list[Case]]:
    """Sweeps of four rows or more with nothing open."""
    closed = [case for case in cases if not case.row.opened and way(case) and case.ideal > 0]
    return [group for group in groups_by(closed, lambda case: case.row.sweep).values()
            if len(group) >= FEWEST_OF_SWEEP]
