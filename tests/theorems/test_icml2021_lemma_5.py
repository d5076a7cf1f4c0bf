"""S21, ICML 2021, Lemma 5: under closed noise a vector is tau-robust iff its separation exceeds 2 tau."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from labelinf_papers.set_valued import separation
from labelinf_scores.decoders.exhaustive import nearest_labelling
from labelinf_scores.limits import is_robust


def gaps_at_random(rng: np.random.Generator) -> list[Fraction]:
    return [Fraction(int(x), 2) for x in rng.integers(1, 20, size=int(rng.integers(1, 5)))]


def test_above_two_tau_the_nearest_labelling_is_right_and_at_two_tau_an_answer_fits_two() -> None:
    rng = np.random.default_rng(0)
    decided = {True: 0, False: 0}
    for _ in range(80):
        gaps, tau = gaps_at_random(rng), Fraction(int(rng.integers(1, 5)), 4)
        sums = {
            x: sum(g for g, k in zip(gaps, x, strict=True) if k) for x in itertools.product((0, 1), repeat=len(gaps))
        }
        robust = is_robust(separation(list(sums.values())), tau, closed=True)
        decided[robust] += 1
        if robust:
            for labels, total in sums.items():
                for noise in (-tau, Fraction(0), tau):
                    assert tuple(nearest_labelling(np.array(gaps, dtype=object), total + noise)) == labels
        else:
            one, other = min(itertools.combinations(sums.values(), 2), key=lambda pair: abs(pair[0] - pair[1]))
            middle = (one + other) / 2
            assert abs(one - middle) <= tau
            assert abs(other - middle) <= tau
    assert min(decided.values()) > 10


def test_a_separation_of_zero_is_never_robust() -> None:
    """The printed proof leaves this case, and equality, out."""
    assert not is_robust(0, Fraction(1, 10**9), closed=True)
    assert not is_robust(2, 1, closed=True)
