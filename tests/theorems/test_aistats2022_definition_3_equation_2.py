"""S33, AISTATS 2022, Definition 3, equation 2: linearly decomposable losses, h(theta) + sum_i sigma_i g(theta_i)."""

from __future__ import annotations

import itertools
import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.bregman import Bregman
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

NUMBERS = make_arithmetic("exact").at_precision(200)
LOSSES = [LogLoss(), ItakuraSaito(), SquaredEuclidean(), NormLike(), Bregman(generator="entropy"), SigmoidLogLoss()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n_records", [1, 3, 4])
def test_the_score_of_every_labelling_is_a_constant_plus_the_gaps_of_its_ones(
    loss: AdditiveLoss, n_records: int
) -> None:
    theta = np.array([mpq(1, i + 2) for i in range(n_records)], dtype=object)
    with NUMBERS.context():
        costs = loss.costs(theta, NUMBERS)
        h, g = costs[:, 0].sum() / n_records, (costs[:, 1] - costs[:, 0]) / n_records
        for labels in itertools.product((0, 1), repeat=n_records):
            score = loss.score(np.array(labels), theta, NUMBERS)
            assert abs(score - h - np.dot(labels, g)) < gmpy2.exp2(-190)


@pytest.mark.parametrize("loss", [LogLoss(), ItakuraSaito(), Bregman(generator="entropy")], ids=repr)
def test_at_the_ends_of_the_printed_domain_the_gap_is_infinite(loss: AdditiveLoss) -> None:
    """The domain is (0, 1), not [0, 1], for losses that punish certainty without bound."""
    with NUMBERS.context():
        costs = loss.costs(NUMBERS.convert([mpq(0), mpq(1)]), NUMBERS)

    assert [float(cost) for cost in costs.ravel()] == [0, math.inf, math.inf, 0]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_solving_for_the_prediction_is_all_that_an_attack_needs(loss: AdditiveLoss) -> None:
    """Every gap inside the span is had by some theta; no formula for a global inverse is asked for."""
    wanted = NUMBERS.convert([mpq(n, 11) for n in range(-10, 11)])
    with NUMBERS.context():
        costs = loss.costs(loss.prediction(wanted, NUMBERS), NUMBERS)
        assert np.all(abs(costs[:, 1] - costs[:, 0] - wanted) < gmpy2.exp2(-190))


def test_the_worked_number() -> None:
    costs = LogLoss().costs(np.array([0.2]), make_arithmetic("float64"))

    assert costs[0, 1] - costs[0, 0] == pytest.approx(math.log(4), rel=1e-15)
