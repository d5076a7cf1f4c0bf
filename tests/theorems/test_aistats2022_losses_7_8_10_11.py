"""S36, AISTATS 2022, losses (7), (8), (10), (11): gaps and spans. Erratum A-3: Itakura-Saito has the constant -1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

NUMBERS = make_arithmetic("exact").at_precision(200)
THETA = [mpq(n, 50) for n in range(1, 50)]


def logit(theta: Any) -> Any:
    return gmpy2.log((1 - theta) / theta)


#: loss, closed form of its gap, span for theta in [.01, .99]
TABLE: list[tuple[AdditiveLoss, Callable[[Any], Any], float]] = [
    (LogLoss(), logit, 4.595120),
    (ItakuraSaito(), lambda x: 2 * gmpy2.sinh(logit(x)) - logit(x), 94.394779),
    (SquaredEuclidean(), lambda x: 1 - 2 * x, 0.98),
    (NormLike(alpha=3.0), lambda x: 3 * ((1 - x) ** 2 - x**2), 2.94),
]
every_row = pytest.mark.parametrize(("loss", "gap", "span"), TABLE, ids=["KL", "IS", "SE", "NL"])


@every_row
def test_the_gap_has_its_closed_form(loss: AdditiveLoss, gap: Callable[[Any], Any], span: float) -> None:
    with NUMBERS.context():
        costs = loss.costs(np.array(THETA, dtype=object), NUMBERS)
        for theta, difference in zip(THETA, costs[:, 1] - costs[:, 0], strict=True):
            assert abs(difference - gap(theta)) < gmpy2.exp2(-180)


@every_row
def test_the_gap_falls_strictly_so_its_ends_are_the_span(
    loss: AdditiveLoss, gap: Callable[[Any], Any], span: float
) -> None:
    with NUMBERS.context():
        gaps = [gap(theta) for theta in THETA]
        assert all(high > low for high, low in itertools.pairwise(gaps))
        assert float(gap(mpq(1, 100))) == pytest.approx(loss.span(0.01), rel=1e-12)
    assert loss.span(0.01) == pytest.approx(span, abs=5e-7)


@every_row
def test_no_cost_is_negative_and_certainty_costs_nothing(
    loss: AdditiveLoss, gap: Callable[[Any], Any], span: float
) -> None:
    with NUMBERS.context():
        costs = loss.costs(np.array([*THETA, mpq(1)], dtype=object), NUMBERS)

    assert min(costs.ravel()) == costs[-1, 1] == 0


def test_erratum_a3_with_the_printed_constant_a_perfect_prediction_costs_minus_one() -> None:
    """g(theta) = 1/theta + ln theta - 2 has its least value, -1, at theta = 1; the constant cancels in every gap."""
    printed = [1 / theta + gmpy2.log(theta) - 2 for theta in (*THETA, mpq(1))]

    assert min(printed) == printed[-1] == -1
    with NUMBERS.context():
        cost = ItakuraSaito().costs(np.array([mpq(1, 5)], dtype=object), NUMBERS)
        gap_printed = (5 + gmpy2.log(mpq(1, 5)) - 2) - (mpq(5, 4) + gmpy2.log(mpq(4, 5)) - 2)
        assert abs(cost[0, 1] - cost[0, 0] - gap_printed) < gmpy2.exp2(-190)


def test_erratum_a3_the_two_component_divergence_from_a_hard_label_is_infinite() -> None:
    """d(p, q) = p/q - ln(p/q) - 1 summed over both components: the component with p = 0 is infinite."""
    with NUMBERS.context():
        components = [p / q - gmpy2.log(p / q) - 1 for p, q in ((mpq(1), mpq(1, 5)), (mpq(0), mpq(4, 5)))]

    assert math.isfinite(components[0])
    assert components[1] == math.inf
