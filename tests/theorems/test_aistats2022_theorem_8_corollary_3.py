"""S49, AISTATS 2022, Theorem 8, Corollary 3: a monotone set function separates by its least increment at most."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from labelinf_papers.set_valued import every_value, is_monotone, least_increment, separation
from labelinf_scores.limits import is_robust


def random_monotone(rng: np.random.Generator, n: int) -> list[Fraction]:
    """Every set is worth the most of its subsets, and something more."""
    own = rng.integers(0, 9, size=1 << n)
    return every_value(lambda s: Fraction(max(int(own[t]) for t in range(s + 1) if t & s == t)) + s.bit_count() ** 2, n)


def test_the_separation_never_exceeds_the_least_increment() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = random_monotone(rng, int(rng.integers(1, 5)))
        assert is_monotone(values)
        assert separation(values) <= least_increment(values)


def test_the_least_increment_can_be_attained_so_half_of_it_is_too_little() -> None:
    """Erratum A-12: f = (0, 1) is 1-separable, where the printed threshold is 1/2. The half belongs to robustness."""
    values = [0, 1]
    assert separation(values) == least_increment(values) == 1
    assert is_robust(separation(values), 0.5, closed=False)
    assert not is_robust(separation(values), 0.50001, closed=False)


def test_corollary_3_takes_the_best_prediction() -> None:
    """f(S, theta) = sum of theta over S with theta in [0, 1]: no theta separates by more than sup min theta_j = 1."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        theta = [Fraction(int(x), 16) for x in rng.integers(1, 17, size=3)]
        values = every_value(lambda s, theta=theta: sum((x for i, x in enumerate(theta) if s >> i & 1), Fraction(0)), 3)
        assert separation(values) <= least_increment(values) == min(theta) <= 1
