#!/usr/bin/python3
"""Scores of steps on made cases: the figures are computed by hand."""

import math
from types import SimpleNamespace

from step_layout import Layout
from step_score import band_of, family_score_of, spearman
from step_study import Case, Prediction
from step_sweeps import set_near_steps, sweeps_of


def request(name, recompute=0):
    return SimpleNamespace(training=SimpleNamespace(recompute=recompute),
                           SerializeToString=lambda deterministic: name)


def case(family, measured, predicted, name=None, tensor=1):
    row = SimpleNamespace(family=family, framework=family, hardware="H100", source="", sweep="one",
                          measured=measured, opened=[], layout=Layout(tensor=tensor),
                          requests=[request(name or f"{measured}, {predicted}")])
    return Case(row, Prediction(predicted, 0, 0, 0, 0, 0, []), constant_mfu=1 / 0.45)


def near(a, b):
    assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-8), (a, b)


def check_scores():
    """Of two families, one at 0.10 (the mean of 0.05 and 0.15) and one at 0.30."""
    cases = [case("a", 1, 1.05), case("a", 1, 0.85), case("b", 1, 1.3)]
    near(family_score_of(cases, Case.error).median, 0.2)


def check_band():
    """20 rows of a family weigh 1 / sqrt(20) each, 4.47 in all, one of another 1: that is more than
    a tenth of 5.47."""
    band = band_of([case("a", 1, 1)] * 20 + [case("b", 1, 2)], Case.error)
    assert band.families == 2 and band.rows == 21
    near(band.low, -math.log(2))
    near(band.high, 0)


def check_ranks():
    near(spearman([1, 2, 3], [10, 20, 30]), 1)
    near(spearman([1, 2, 3], [3, 2, 1]), -1)
    # Ranks 0, 1, 2 and 0.5, 0.5, 2: 1.5 / sqrt(2 x 1.5).
    near(spearman([1, 2, 3], [5, 5, 6]), 1.5 / math.sqrt(3))


def check_cost():
    sweep, = sweeps_of([case("a", 1.0, 2.0), case("a", 1.2, 1.0), case("a", 1.4, 1.0),
                        case("a", 2.0, 3.0)])
    near(sweep.spread, 1)
    near(sweep.cost, 0.3)  # 1.3 on average, over 1.0


def check_error_spread():
    """Two frameworks with errors of e^0.2, of two requests each, of which one repeats with a
    scatter of e^0.1 either way. Errors -0.1, 0.1, -0.2, -0.2 about -0.1: 0, 0.04, 0.01 and 0.01."""
    e = math.exp
    sweep, = sweeps_of([case("a", e(0.1), 1, "1"), case("a", e(-0.1), 1, "1"),
                        case("b", 2 * e(0.2), 2, "2"), case("b", 3 * e(0.2), 3, "3")])
    near(sweep.error_spread, math.sqrt(0.06 / 4))
    near(sweep.noise, math.sqrt(0.02 / 4))
    near(sweep.framework_spread, math.sqrt(0.04 / 4))
    near(sweep.rest_spread, 0)


def check_noise():
    """Times far apart compared with the noise of repeats are put in order, those within it are
    not."""
    far, = sweeps_of([case("a", 1.5 ** i, 1) for i in range(8)])
    close, = sweeps_of([case("a", 1 + 0.01 * i, 1) for i in range(8)])
    near(far.reachable, 1)
    assert 0.4 < close.reachable < 0.9, close.reachable


def check_position():
    one = Prediction(2, 1, 8, 2, 0, 0, [])
    for measured, position in ((2, 0), (1, -1), (4, 0.5), (0.5, -2)):
        near(one.position(measured), position)


def check_near_steps():
    """One doubling away, and two: 15 and 14 sixteenths of the error."""
    cases = [case("a", 2.0, 1.0), case("a", 3.0, 2.0, tensor=2), case("a", 8.0, 2.0, tensor=8)]
    for each in cases:
        each.generic = each.predicted
    set_near_steps(cases)
    near(cases[0].near_step, 1.0 * (3 / 2) ** (15 / 16))
    near(cases[1].near_step, 2.0 * (2 / 1) ** (15 / 16))
    near(cases[2].near_step, 2.0 * (3 / 2) ** (14 / 16))


if __name__ == "__main__":
    for check in (check_scores, check_band, check_ranks, check_cost, check_error_spread,
                  check_noise, check_position, check_near_steps):
        check()
