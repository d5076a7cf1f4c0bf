"""Fewer sums than signs: message passing does what state evolution predicts, and least squares cannot."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.decoders.least_squares import sign_accuracy
from labelinf_scores.decoders.message_passing import posterior_logits, predicted_accuracy


def observed(order: int, queries: int, noise: float, bias: float, *, trials: int = 6) -> float:
    rng, matrix, right = np.random.default_rng(0), Hadamard.of_order(order), 0
    for _ in range(trials):
        truth = np.where(rng.random(order) < (1 + np.tanh(bias)) / 2, 1.0, -1.0)
        flips, rows = rng.choice([-1.0, 1.0], order), rng.permutation(order)[:queries]
        answers = matrix.times(truth * flips)[rows] + noise * rng.normal(size=queries)
        logits = posterior_logits(matrix, rows, answers, noise=noise, bias=bias * flips) * flips
        right += np.count_nonzero(logits * truth > 0)
    return right / (trials * order)


@pytest.mark.parametrize(
    ("queries", "noise", "bias"),
    [(1024, 13.76, 0.0), (640, 5.0, 0.0), (300, 20.0, 0.0), (384, 0.1, 0.27), (100, 30.0, 0.27), (200, 0.1, 1.5)],
)
def test_the_observed_accuracy_meets_the_prediction(queries: int, noise: float, bias: float) -> None:
    """6 144 signs: 0.03 is more than four standard errors, and leaves room for the finite size."""
    predicted = predicted_accuracy(order=1024, queries=queries, noise=noise, bias=bias)
    assert observed(1024, queries, noise, bias) == pytest.approx(predicted, abs=0.03)


def test_two_thirds_as_many_sums_as_signs_are_enough_without_noise() -> None:
    assert observed(1024, 683, 0.01, 0.0) == 1.0


def test_a_whole_design_is_plain_least_squares() -> None:
    for noise in (3.0, 16.0, 60.0):
        predicted = predicted_accuracy(order=256, queries=256, noise=noise, bias=0.0)
        assert predicted == pytest.approx(sign_accuracy(256, noise), abs=1e-6)


def test_hopeless_noise_leaves_the_prior() -> None:
    assert predicted_accuracy(order=64, queries=8, noise=1e6, bias=0.5) == pytest.approx((1 + np.tanh(0.5)) / 2)


def test_columns_that_were_not_asked_about_change_nothing() -> None:
    matrix, rng = Hadamard.of_order(64), np.random.default_rng(0)
    signs, rows = rng.choice([-1.0, 1.0], 40), rng.permutation(64)[:44]
    answers = matrix.times(np.concatenate([signs, np.zeros(24)]))[rows]
    logits = posterior_logits(matrix, rows, answers, noise=0.01, bias=np.zeros(40))
    assert (np.sign(logits) == signs).all()
