"""A rank-one gradient comes apart into its column and its direction."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.recovery.factor import factor, principal


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_column_times_direction_is_the_gradient(dtype: str) -> None:
    rng = np.random.default_rng(0)
    columns, rows = rng.normal(size=(20, 7)), rng.normal(size=(20, 11))
    gradients = (columns[:, :, None] * rows[:, None, :]).astype(dtype)

    parts = factor(gradients)

    again = parts.column[:, :, None] * parts.direction[:, None, :]
    assert np.abs(again - gradients).max() < (1e-5 if dtype == "float32" else 1e-13)
    assert parts.misfit.max() < 1e-4


def test_non_negative_features_fix_the_sign() -> None:
    gradients = -np.outer([1.0, -2.0, 1.0], [0.0, 3.0, 4.0])[None]

    parts = factor(gradients, nonnegative=True)

    assert np.allclose(parts.direction, [[0, 0.6, 0.8]])
    assert np.allclose(parts.column, [[-5, 10, -5]])


def test_the_principal_factors_are_the_least_squares_fit_and_agree_on_clean_gradients() -> None:
    rng = np.random.default_rng(1)
    clean = np.outer(rng.normal(size=5), np.abs(rng.normal(size=9)))[None]
    noisy = clean + 0.05 * rng.normal(size=clean.shape)

    best = principal(noisy, nonnegative=True)

    exact, found = factor(clean, nonnegative=True), principal(clean, nonnegative=True)
    assert np.allclose(found.column, exact.column)
    assert np.allclose(found.direction, exact.direction)
    left = np.linalg.norm(noisy[0] - np.outer(best.column[0], best.direction[0]))
    assert left == pytest.approx(np.sqrt((np.linalg.svd(noisy[0])[1][1:] ** 2).sum()))


def test_a_batch_is_seen_not_to_be_of_rank_one() -> None:
    assert factor(np.eye(6)[None]).misfit[0] > 0.1
