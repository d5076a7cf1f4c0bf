"""The paper's search: its losses against plain formulas, its optimisers on known functions, its known failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_gradients.game.networks import softmax
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import LabelLoss, Objective, label_loss
from labelinf_papers.search.secant import Secant
from labelinf_papers.search.swarm import swarm


def some_loss(target: Objective, excluded: int = 1) -> LabelLoss:
    rng = np.random.default_rng(0)
    return LabelLoss(
        slopes=rng.normal(size=6), ratios=rng.normal(size=6), coefficient=4.0, excluded=excluded, target=target
    )


@pytest.mark.parametrize("target", list(Objective))
def test_the_slope_is_the_derivative(target: Objective) -> None:
    loss = some_loss(target)
    at = np.array([-3.0, -0.7, 0.4, 2.0, 9.0])

    slope = loss.with_slope(at)[1]

    step = 1e-6
    assert slope == pytest.approx((loss.value(at + step) - loss.value(at - step)) / (2 * step), rel=1e-4)


def test_the_variance_is_that_of_all_but_the_largest_entries() -> None:
    loss = some_loss(Objective.VARIANCE, excluded=2)

    label = np.sort(softmax(1.5 * loss.slopes) - loss.ratios * 4.0 / 1.5)

    assert loss.value(np.array([1.5]))[0] == pytest.approx(1000 * label[:4].var())


def test_the_true_scalar_is_a_zero_of_the_loss(make: Callable[..., Any]) -> None:
    made = make(n=1, family="smoothing", dtype="float64")
    loss = label_loss(made.gradients[0], made.weights, coefficient=4.0, excluded=1)
    errors = softmax(made.features @ made.weights.T)[0] - made.labels[0]
    row = np.abs(made.gradients[0].sum(axis=1)).argmax()

    assert loss.value(np.array([4.0 / errors[row]]))[0] < 1e-25


def test_one_step_of_the_secant_method_finds_the_minimum_of_a_parabola_at_full_rate() -> None:
    optimiser = Secant(at=5.0, rate=1.0)

    optimiser.step(lambda x: ((x - 2) ** 2, 2 * (x - 2)))

    assert optimiser.at == pytest.approx(2, abs=1e-6)


def test_the_swarm_finds_the_lower_of_two_minima_and_stays_in_its_box() -> None:
    rng = np.random.default_rng(0)

    at, loss = swarm(lambda x: np.minimum((x - 1) ** 2 + 0.1, (x - 4) ** 2), 0.0, 3.9, rng)

    assert at == pytest.approx(3.9)
    assert loss == pytest.approx(0.01)


def test_untrained_networks_are_solved_by_the_gradient_method(make: Callable[..., Any]) -> None:
    made = make(n=5, family="smoothing")
    rng = np.random.default_rng(0)

    for gradient, label in zip(made.gradients, made.labels, strict=True):
        loss = label_loss(gradient, made.weights, coefficient=4.0, excluded=1)
        found = search(loss, rng)
        assert found.by == "l-bfgs"
        assert np.abs(loss.labels(np.array([found.scalar]))[0] - label).sum() < 1e-2


def test_a_well_predicted_one_hot_label_lies_beyond_the_boxes(make: Callable[..., Any]) -> None:
    """The true scalar is 4 / (p - y), which exceeds the last box of 50 once the network is sure of itself."""
    weights = np.eye(5)
    x = np.array([8.0, 0, 0, 0, 0])
    errors = softmax(weights @ x) - np.eye(5)[0]
    loss = label_loss(np.outer(errors, x), weights, coefficient=4.0, excluded=1)

    found = search(loss, np.random.default_rng(0), population=100, iterations=10)

    assert 4 / np.abs(errors).max() > 50
    assert not abs(found.scalar - 4 / errors[np.abs(errors).argmax()]) < 0.01
