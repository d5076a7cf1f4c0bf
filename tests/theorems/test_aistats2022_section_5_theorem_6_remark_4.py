"""S45, AISTATS 2022, section 5 and Theorem 6: MutNet outputs a chosen vector; for which inputs, and what it tells."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_papers.mutnet import ModelActivation, ModelLayer, MutNet, for_any_sign, published
from labelinf_scores.limits import is_robust

TARGET = np.array([0.1, 0.35, 0.99])


def test_inputs_that_are_not_negative_give_the_target_exactly_as_the_sigmoid_of_its_logit() -> None:
    rng = np.random.default_rng(0)
    network = published(TARGET, n_features=5, rng=rng)
    outputs = network(rng.uniform(0, 100, (200, 5)))
    assert np.abs(outputs - TARGET).max() < 1e-15


def test_every_row_has_the_same_output() -> None:
    rng = np.random.default_rng(0)
    outputs = published(TARGET, n_features=5, rng=rng)(rng.uniform(0, 100, (200, 5)))
    assert len(np.unique(outputs, axis=0)) == 1


def test_a_negative_input_breaks_the_published_network() -> None:
    """Erratum A-20: v = -1, M1 = -1, M2 = 1, x = 1/2."""
    first = ModelLayer(weights=np.array([[-1.0]]), bias=np.zeros(1), activation=ModelActivation.RELU)
    second = ModelLayer(weights=np.array([[1.0]]), bias=np.zeros(1), activation=ModelActivation.SIGMOID)
    network = MutNet(layers=(first, second))
    assert network(np.array([[-1.0]])).item() == pytest.approx(0.7310586, abs=1e-7)
    assert network(np.array([[1.0]])).item() == 0.5


def test_doubling_the_input_repairs_every_sign() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 5))
    broken = np.abs(published(TARGET, n_features=5, rng=rng)(rows) - TARGET).max(axis=1) > 1e-6
    assert broken.mean() > 0.5
    assert np.abs(for_any_sign(TARGET, n_features=5, rng=rng)(rows) - TARGET).max() < 1e-15


def test_theorem_6_needs_more_than_two_tau_under_its_closed_noise() -> None:
    """Erratum A-10: it allows |noise| <= tau with separation 2 tau, where scores 0 and 2 tie at 1."""
    assert not is_robust(2.0, 1.0, closed=True)
    assert is_robust(2.0, 0.999, closed=True)
