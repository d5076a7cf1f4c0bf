from __future__ import annotations

import numpy as np
import pytest
from gmpy2 import mpq
from sklearn.metrics import brier_score_loss

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

DOUBLES = make_arithmetic("float64")
RNG = np.random.default_rng(0)


def test_two_classes_score_as_scikit_learns_brier_score() -> None:
    labels, theta = RNG.integers(0, 2, 200), RNG.random(200)

    assert SquaredEuclidean().score(labels, theta, DOUBLES) == pytest.approx(brier_score_loss(labels, theta), rel=1e-14)


def test_many_classes_cost_half_the_squared_distance_from_the_corner() -> None:
    u = RNG.dirichlet(np.ones(5), size=40)
    expected = [[((row - np.eye(5)[k]) ** 2).sum() / 2 for k in range(5)] for row in u]

    assert np.allclose(SquaredEuclidean().costs(u, DOUBLES), expected)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
def test_rows_have_exact_steps_and_sum_to_one(n_classes: int) -> None:
    numbers = make_arithmetic("exact")
    largest = mpq(2, n_classes * (n_classes - 1))
    steps = np.array([largest, -largest, largest / 3, mpq(0)], dtype=object)
    rows = SquaredEuclidean().rows(steps, n_classes, numbers)
    costs = SquaredEuclidean().costs(rows, numbers)

    assert (rows.sum(axis=1) == 1).all()
    assert (rows >= 0).all()
    assert (costs - costs[:, :1] == steps[:, None] * np.arange(n_classes)).all()


@pytest.mark.parametrize(("n_classes", "step"), [(2, 1.01), (3, 0.34), (10, -0.03)])
def test_a_step_that_no_row_can_have_is_refused(n_classes: int, step: float) -> None:
    with pytest.raises(ValueError, match=f"no row of {n_classes} classes with steps beyond"):
        SquaredEuclidean().rows(np.array([step]), n_classes, DOUBLES)
