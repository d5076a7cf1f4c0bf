"""The linear program against a slow independent solver, and where it beats least squares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_scores.decoders.linear_programming import Norm, fit_signs


@pytest.mark.parametrize("norm", Norm)
def test_without_noise_it_finds_the_signs(norm: Norm) -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], 30)
    design = rng.choice([-1, 1], (40, 30))
    assert fit_signs(design, (design @ signs).astype(float), norm) == pytest.approx(signs)


@pytest.mark.parametrize("norm", Norm)
def test_no_corner_of_the_cube_explains_the_answers_better(norm: Norm) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        design, answers = rng.choice([-1, 1], (7, 5)), rng.normal(0, 3, 7)
        order = 1 if norm is Norm.L1 else np.inf
        found = np.linalg.norm(design @ fit_signs(design, answers, norm) - answers, order)
        corners = [np.linalg.norm(design @ np.array(z) - answers, order) for z in itertools.product((-1, 1), repeat=5)]
        assert found <= min(corners) + 1e-7


def test_sixty_percent_as_many_sums_as_signs_are_enough_without_noise() -> None:
    rng = np.random.default_rng(2)
    signs = rng.choice([-1, 1], 80)
    design = rng.choice([-1, 1], (60, 80))
    assert (np.sign(fit_signs(design, (design @ signs).astype(float), Norm.L1)) == signs).all()


def test_the_largest_deviation_defeats_bounded_noise_that_is_asked_about_often() -> None:
    """N = 64, q = 8N, uniform noise of 1.5 L / sqrt(N): every |noise| may be 24 signs, and nothing is lost."""
    rng = np.random.default_rng(3)
    n, q = 64, 512
    signs, design = rng.choice([-1, 1], n), rng.choice([-1, 1], (q, n))
    bound = 2 * 1.5 * np.sqrt(n)
    answers = design @ signs + rng.uniform(-bound, bound, q)
    wrong = np.count_nonzero(np.sign(fit_signs(design, answers, Norm.LINF)) != signs)
    assert wrong <= 1


def test_an_answer_that_is_not_a_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="b_ub"):
        fit_signs(np.ones((1, 1), dtype=int), np.array([np.nan]), Norm.L1)
