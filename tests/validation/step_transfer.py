"""What a measured step of one layout says of others."""

import math

from step_score import median_of
from step_study import Case, groups_by
from step_sweeps import FEWEST_OF_SWEEP, cost_of_first

# What the service does with a measured step: docs/step_time.md, "A measured step".
MEASURED_END = 0.07  # of the interval of a near layout
NEAR_DOUBLINGS = 2
FARTHEST = 16  # likewise
BANDS = ((-1, NEAR_DOUBLINGS), (NEAR_DOUBLINGS, 4), (4, 8), (8, 16))
SIZES = ("tensor", "stages", "chunks", "context", "experts", "data", "micro_batch")
# The predictions that the tables are of.
WAYS = {"family left out": lambda case: case.left_out, "unknown stack": lambda case: case.generic}


def distance(one: Case, other: Case) -> float:
    """The doublings between two rows' layouts."""
    a, b = one.row, other.row
    out = 0.0
    for size in SIZES:
        out += abs(math.log2(getattr(a.layout, size) / getattr(b.layout, size)))
    same = a.requests[0].training.recompute == b.requests[0].training.recompute
    return out + (0 if same else 2)


# The share of a measured step's error that is taken to be another layout's, by their distance.
def share_none(_):
    return 0.0


def share_all(_):
    return 1.0


def share_up_to_four(doublings):
    return 1.0 if doublings <= 4 else 0.0


def share_by_distance(doublings):
    return max(0.0, 1 - doublings / FARTHEST)


def kinds(cases: list[Case]) -> dict[str, list[Case]]:
    return groups_by(cases, lambda case: f"{case.row.family} | {case.row.hardware}")


def log_error(case: Case, way) -> float:
    """ln(measured / predicted)."""
    return math.log(case.row.measured / way(case).expected)


def set_near_steps(cases: list[Case]) -> None:
    """Sets near_step: the generic prediction of each case as the nearest other case of its model,
    framework, device and type corrects it."""
    way = WAYS["unknown stack"]
    for group in kinds([case for case in cases if case.generic]).values():
        for case in group:
            others = [other for other in group if other is not case]
            if not others:
                continue
            near = min(others, key=lambda other, case=case: distance(case, other))
            share = share_by_distance(distance(case, near))
            case.near_step = case.generic.expected * math.exp(share * log_error(near, way))


def corrected(case: Case, measured: Case, way, sharing) -> float:
    """ln(measured / predicted) of a step that was predicted with another one's error."""
    return (log_error(case, way)
            - sharing(distance(case, measured)) * log_error(measured, way))


def covered(case: Case, measured: Case, way) -> bool:
    one = way(case)
    near = distance(case, measured) <= NEAR_DOUBLINGS
    low = -MEASURED_END if near else math.log(one.low / one.expected)
    high = MEASURED_END if near else math.log(one.high / one.expected)
    return low <= corrected(case, measured, way, share_by_distance) <= high


def pairs_at(band, cases: list[Case], way) -> list[list[tuple[Case, Case]]]:
    """Pairs of cases with nothing open whose distance is in the band, by kind."""
    closed = [case for case in cases if not case.row.opened and way(case)]
    out = []
    for group in kinds(closed).values():
        pairs = [(case, other) for case in group for other in group
                 if case is not other and band[0] < distance(case, other) <= band[1]]
        if pairs:
            out.append(pairs)
    return out


def median_error(pairs, way, sharing) -> float:
    """One vote a kind: of the medians of sizes."""
    return median_of([median_of([abs(corrected(case, measured, way, sharing))
                                 for case, measured in of_kind]) for of_kind in pairs])


def coverage(pairs, way) -> float:
    """One vote a kind."""
    shares = [sum(covered(case, measured, way) for case, measured in of_kind) / len(of_kind)
              for of_kind in pairs]
    return sum(shares) / len(shares) if shares else 0


def cost_of(cases: list[Case], way, sharing) -> float:
    """The mean, over each of `cases` being the measured one, of what the first choice costs. Times
    are over those of the rows' FLOPs at the peak."""
    measured = [case.row.measured / case.ideal for case in cases]
    total = 0.0
    for known in cases:
        predicted = []
        for case in cases:
            share = 1 if case is known else sharing(distance(case, known))
            predicted.append(way(case).expected / case.ideal
                             * math.exp(share * log_error(known, way)))
        total += cost_of_first(measured, predicted) / min(measured) - 1
    return total / len(cases)


def choices(cases: list[Case], way) -> list[list[Case]]:
    """Sweeps of four rows or more with nothing open."""
    closed = [case for case in cases if not case.row.opened and way(case) and case.ideal > 0]
    return [group for group in groups_by(closed, lambda case: case.row.sweep).values()
            if len(group) >= FEWEST_OF_SWEEP]
