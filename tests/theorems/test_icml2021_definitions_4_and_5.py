"""S11, ICML 2021, Definitions 4 and 5: tau-robust inference, one algorithm for every labelling and all closed noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from labelinf_papers.set_valued import separation
from labelinf_scores.limits import is_robust


def one_algorithm_exists(scores: list[Fraction], tau: Fraction) -> bool:
    """No answer may be within tau of two scores; the answers to try are the ends of the intervals."""
    answers = [score + side * tau for score in scores for side in (-1, 1)]
    return all(sum(abs(score - answer) <= tau for score in scores) == 1 for answer in answers)


def test_one_algorithm_exists_exactly_when_the_separation_exceeds_two_tau() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        scores = [Fraction(int(x), 4) for x in rng.integers(0, 40, size=4)]
        tau = Fraction(int(rng.integers(1, 12)), 8)
        robust = is_robust(separation(scores), tau, closed=True)
        assert one_algorithm_exists(scores, tau) == robust
        seen.add(robust)
    assert seen == {True, False}


def test_half_way_between_two_scores_ties_under_closed_noise_only() -> None:
    assert not is_robust(2, 1, closed=True)
    assert is_robust(2, 1, closed=False)
    assert not one_algorithm_exists([Fraction(0), Fraction(2)], Fraction(1))
