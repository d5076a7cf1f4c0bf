"""Hadamard least squares: what it guarantees under any noise, and what it expects under Gaussian noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.constructions.hadamard_matrix import Hadamard
from labelinf_scores.decoders.least_squares import sign_accuracy, sign_estimates, wrong_signs

VECTORS = json.loads((Path(__file__).parents[2] / "theorems" / "vectors.json").read_text())


def test_without_noise_the_estimates_are_the_signs() -> None:
    for order in (1, 2, 12, 20, 64):
        signs = np.random.default_rng(order).choice([-1.0, 1.0], order)
        matrix = Hadamard.of_order(order)
        assert sign_estimates(matrix, matrix.times(signs)) == pytest.approx(signs)


@settings(max_examples=60)
@given(st.sampled_from([4, 8, 12, 20]), st.floats(0.1, 3.0), st.integers(0, 10**6), st.booleans())
def test_any_noise_of_size_nu_leaves_at_most_nu_squared_wrong(order: int, nu: float, seed: int, worst: bool) -> None:
    """Random bounded noise, and the noise that presses as hard as it may against the first few signs."""
    rng = np.random.default_rng(seed)
    signs, matrix = rng.choice([-1.0, 1.0], order), Hadamard.of_order(order)
    noise = rng.uniform(-nu, nu, order)
    if worst:
        target = np.where(np.arange(order) < nu**2, -signs, 0.0)
        noise = np.clip(matrix.times(target), -nu, nu)
    estimates = sign_estimates(matrix, matrix.times(signs) + noise)
    assert np.count_nonzero(estimates * signs <= 1e-12) <= nu**2 + 1e-9
    if nu < 1:
        assert wrong_signs(nu) == 0


@pytest.mark.parametrize("name", VECTORS["gdp"])
def test_the_predicted_accuracy_is_the_ceiling_for_gaussian_noise(name: str) -> None:
    """Worked numbers: noise s of the mean score in units of the span, so nu = 2 N s."""
    n, q, s = (float(part.split("=")[1]) for part in name.split(","))
    assert sign_accuracy(int(q), 2 * n * s) == pytest.approx(VECTORS["gdp"][name], rel=1e-9)


def test_the_observed_accuracy_meets_the_prediction() -> None:
    """20 480 signs at 97.7 %: five standard errors are 0.0053, exceeded with probability 6e-7."""
    order, noise, rng = 1024, 16.0, np.random.default_rng(0)
    matrix, right = Hadamard.of_order(order), 0
    for _ in range(20):
        signs = rng.choice([-1.0, 1.0], order)
        right += np.count_nonzero(
            sign_estimates(matrix, matrix.times(signs) + noise * rng.normal(size=order)) * signs > 0
        )
    assert right / (20 * order) == pytest.approx(sign_accuracy(order, noise), abs=0.0053)


def test_no_noise_is_no_doubt() -> None:
    assert sign_accuracy(4, 0.0) == 1.0
