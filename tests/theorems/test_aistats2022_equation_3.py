"""S34, AISTATS 2022, equation 3: label 1 costs g(theta), label 0 costs g(1 - theta); their difference is the gap."""

from __future__ import annotations

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
THETA = [mpq(n, 20) for n in range(1, 20)]

G_LINEAR: list[tuple[AdditiveLoss, Callable[[Any], Any]]] = [
    (LogLoss(), lambda x: -gmpy2.log(x)),
    (ItakuraSaito(), lambda x: 1 / x + gmpy2.log(x) - 1),
    (SquaredEuclidean(), lambda x: (1 - x) ** 2),
    (NormLike(alpha=3.0), lambda x: 1 + 2 * x**3 - 3 * x**2 + 2 * (1 - x) ** 3),
]


@pytest.mark.parametrize(("loss", "g"), G_LINEAR, ids=lambda item: getattr(type(item), "__name__", ""))
def test_the_gap_is_g_of_theta_minus_g_of_its_complement(loss: AdditiveLoss, g: Callable[[Any], Any]) -> None:
    with NUMBERS.context():
        costs = loss.costs(np.array(THETA, dtype=object), NUMBERS)
        for theta, (cost_0, cost_1) in zip(THETA, costs, strict=True):
            assert abs(cost_1 - g(theta)) < gmpy2.exp2(-190)
            assert abs(cost_0 - g(1 - theta)) < gmpy2.exp2(-190)


@pytest.mark.parametrize("loss", [loss for loss, _ in G_LINEAR], ids=repr)
def test_complementing_a_prediction_flips_the_sign_of_its_gap(loss: AdditiveLoss) -> None:
    with NUMBERS.context():
        costs = loss.costs(np.array(THETA, dtype=object), NUMBERS)
        gaps = costs[:, 1] - costs[:, 0]
        assert np.all(abs(gaps + gaps[::-1]) < gmpy2.exp2(-190))
        assert gaps[9] == 0  # theta = 1/2 tells nothing


def test_the_worked_number() -> None:
    costs = SquaredEuclidean().costs(np.array([mpq(1, 5)], dtype=object), NUMBERS)

    assert costs[0, 1] - costs[0, 0] == mpq(3, 5)
