"""E1 (remark): the label as a function of one scalar (Wang et al., ICLR 2024, equations 3 and 4)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_papers.search.loss import label_loss


def test_the_true_scalar_of_the_worked_example() -> None:
    errors = np.array([-6, 2, 4]) / 7
    loss = label_loss(errors[:, None], np.log([[1.0], [2.0], [4.0]]), coefficient=1.0, excluded=1)

    assert loss.labels(np.array([-7 / 6]))[0] == pytest.approx([1, 0, 0], abs=1e-12)  # r = 0: 1 / (p_0 - y_0)


def test_row_by_row_division_fails_where_a_feature_is_zero_and_the_inner_product_does_not() -> None:
    rng = np.random.default_rng(0)
    weights, y = rng.normal(size=(6, 8)), rng.dirichlet(np.ones(6))
    x = np.maximum(rng.normal(size=8), 0)
    errors = softmax(weights @ x) - y
    gradient = np.outer(errors, x)
    row = np.abs(gradient.sum(axis=1)).argmax()

    with np.errstate(invalid="ignore"):
        as_printed = gradient[1] / gradient[row]
    loss = label_loss(gradient, weights, coefficient=1.0, excluded=1)

    assert (x == 0).any()
    assert np.isnan(as_printed[x == 0]).all()
    assert as_printed[x > 0] == pytest.approx(errors[1] / errors[row])  # a multiple of ones: footnote 3
    assert loss.ratios == pytest.approx(errors / errors[row], abs=1e-12)
    assert loss.labels(np.array([1 / errors[row]]))[0] == pytest.approx(y, abs=1e-12)


def test_the_scalar_is_never_smaller_than_one() -> None:
    rng = np.random.default_rng(1)
    p, y = softmax(3 * rng.normal(size=(2000, 7))), np.eye(7)[rng.integers(7, size=2000)]

    assert (1 / np.abs(p - y).max(axis=1) >= 1).all()
