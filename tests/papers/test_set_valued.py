from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_papers.set_valued import discrete_lp, every_value, is_monotone, least_increment, separation


@pytest.mark.parametrize("p", [0.5, 1, 2, 3])
def test_discrete_lp_is_the_norm_of_the_difference(p: float) -> None:
    for labels, guess in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
        expected = float((np.abs(np.subtract(labels, guess)) ** p).sum() ** (1 / p))
        assert discrete_lp(labels, guess, p) == pytest.approx(expected)


def test_discrete_lp_needs_a_positive_order() -> None:
    with pytest.raises(ValueError, match=r"p=0 must be > 0"):
        discrete_lp([0], [1], 0)


def test_increments_and_separation_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4):
        values = rng.integers(0, 50, size=2**n).tolist()
        steps = [
            values[b] - values[a] for a in range(2**n) for b in range(2**n) if a & b == a and (b - a).bit_count() == 1
        ]
        pairs = [abs(values[b] - values[a]) for a in range(2**n) for b in range(a)]

        assert least_increment(values) == min(steps)
        assert is_monotone(values) == (min(steps) >= 0)
        assert separation(values) == min(pairs)


def test_every_value_lists_the_sets_by_their_masks() -> None:
    assert every_value(lambda mask: mask * 10, 2) == [0, 10, 20, 30]
