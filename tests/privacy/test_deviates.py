"""Exact deviates: their laws by chi-square, their rare branches by scripted words, their constants by other means.

Statistical tests use one fixed seed each; a correct sampler would fail one with probability below 1e-4 for a seed
chosen at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

import gmpy2
import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from labelinf_privacy import deviates
from labelinf_privacy.deviates import Deviates, exponential, normal, signs, uniform_below
from labelinf_privacy.words import SeededWords, SystemWords, Words

SIZE = 40_000
UNIT = NormalDist()


class Scripted:
    """Words written down beforehand; asking for more is an error."""

    def __init__(self, *script: int) -> None:
        self.left = list(script)

    def words(self, n: int) -> NDArray[np.uint64]:
        drawn, self.left = self.left[:n], self.left[n:]
        assert len(drawn) == n
        return np.array(drawn, dtype=np.uint64)


def _source(seed: int) -> Words:
    return SeededWords(np.random.default_rng(seed))


def _chi_square(drawn: NDArray[np.int64], expected: list[float]) -> float:
    """P-value over ``0, 1, ...`` while at least five are expected, and one cell for everything beyond."""
    expected = list(itertools.takewhile(lambda share: share * drawn.size >= 5, expected))
    counts = np.bincount(np.minimum(drawn, len(expected)), minlength=len(expected) + 1)
    shares = np.array([*expected, max(1 - sum(expected), 1e-12)])
    return float(scipy.stats.chisquare(counts, shares * drawn.size).pvalue)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_exponential_deviates_round_to_the_exact_probabilities(scale: Fraction) -> None:
    edges = [0.0] + [(k + 0.5) / float(scale) for k in range(12)]
    expected = [math.exp(-low) - math.exp(-high) for low, high in itertools.pairwise(edges)]
    assert _chi_square(exponential(_source(1), SIZE).rounded(scale, _source(2)), expected) > 1e-4


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_normal_deviates_round_to_the_exact_probabilities(scale: Fraction) -> None:
    edges = [0.0] + [(k + 0.5) / float(scale) for k in range(12)]
    expected = [2 * (UNIT.cdf(high) - UNIT.cdf(low)) for low, high in itertools.pairwise(edges)]
    assert _chi_square(normal(_source(3), SIZE).rounded(scale, _source(4)), expected) > 1e-4


@pytest.mark.parametrize("draw", [exponential, normal])
def test_digits_within_a_unit_have_the_right_law_too(draw: Callable[[Words, int], Deviates]) -> None:
    """One hundred equal probabilities: the fraction of a deviate is finer than its integer part."""
    drawn = draw(_source(5), SIZE)
    values = drawn.whole + drawn.digits.astype(float) / 2.0**64
    law = scipy.stats.expon() if draw is exponential else scipy.stats.halfnorm()
    cells = np.minimum((law.cdf(values) * 100).astype(int), 99)
    assert scipy.stats.chisquare(np.bincount(cells, minlength=100)).pvalue > 1e-4


def test_integers_are_uniform_by_rejection_of_the_surplus() -> None:
    # 2**64 = 3 * 6148914691236517205 + 1: of all words only the last is surplus.
    limits = np.array([3, 3, 3], dtype=np.int64)
    assert uniform_below(limits, Scripted(2**64 - 1, 4, 2**64 - 2, 8)).tolist() == [2, 1, 2]
    # A power of two divides 2**64: nothing is rejected.
    assert uniform_below(np.array([4], dtype=np.int64), Scripted(2**64 - 1)).tolist() == [3]
    drawn = uniform_below(np.full(SIZE, 7, dtype=np.int64), _source(6))
    assert scipy.stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > 1e-4


def test_signs_are_the_top_bit() -> None:
    assert signs(Scripted(0, 2**63 - 1, 2**63, 2**64 - 1), 4).tolist() == [1, 1, -1, -1]


def test_fractions_that_agree_in_64_digits_are_compared_further_on() -> None:
    deviate = Deviates(np.array([0]), np.array([5], dtype=np.uint64))
    which = np.array([0])
    # Equal, then 7 more digits of its own (drawn now), which a fresh 6 is below.
    assert deviate.exceed(which, Scripted(5, 7, 6)).tolist() == [True]
    # Its own digits stay: equal, equal again with 7, then 9 of its own against 9, then 1 against 2.
    assert deviate.exceed(which, Scripted(5, 7, 9, 9, 1, 2)).tolist() == [False]
    assert deviate.more == {0: [7, 9, 1]}
    assert deviate.exceed(which, Scripted(4)).tolist() == [True]
    assert deviate.exceed(which, Scripted(6)).tolist() == [False]


def test_rounding_that_64_digits_leave_open_asks_for_more() -> None:
    # x = 0.5 - tiny or beyond: the first 64 digits of 0.0111...1 leave floor(x + 1/2) at 0 whatever follows ...
    below = Deviates(np.array([0]), np.array([2**63 - 1], dtype=np.uint64))
    assert below.rounded(Fraction(1), Scripted()).tolist() == [0]
    # ... but floor(3 x + 1/2) of x = 1/6 - ... depends on the next.
    third = (2**64) // 6
    for more, expected in ((0, 0), (2**64 - 1, 1)):
        open_ = Deviates(np.array([0]), np.array([third], dtype=np.uint64))
        assert open_.rounded(Fraction(3), Scripted(more)).tolist() == [expected]


def test_what_is_kept_is_the_first_of_what_is_proposed_with_all_its_digits() -> None:
    proposals = iter(
        [
            ([False, True, False, False], {0: [6], 1: [7]}),
            ([True, True, True, True], {0: [8], 1: [9]}),
        ]
    )
    asked = []

    def proposed(n: int) -> tuple[Deviates, NDArray[np.bool_]]:
        kept, more = next(proposals)
        asked.append(n)
        whole = np.arange(4) + 10 * len(asked)
        return Deviates(whole, whole.astype(np.uint64) + np.uint64(100), more), np.array(kept)

    found = deviates._first_kept(3, proposed)
    assert asked == [2 * 3 + 4, 2 * 2 + 4]
    assert found.whole.tolist() == [11, 20, 21]
    assert found.digits.tolist() == [111, 120, 121]
    assert found.more == {0: [7], 1: [8], 2: [9]}


def test_no_draw_at_all_succeeds_without_a_word() -> None:
    assert deviates._all_succeed(np.array([0, 0]), 2, Scripted()).tolist() == [True, True]


@pytest.mark.parametrize("draw", [exponential, normal])
def test_no_deviate_at_all_is_drawn_without_a_word(draw: Callable[[Words, int], Deviates]) -> None:
    assert draw(Scripted(), 0).whole.size == 0


@pytest.mark.parametrize("over", [1, 2, 3])
@pytest.mark.parametrize("bits", [8, 64, 192])
def test_constants_are_exact_in_every_digit(over: int, bits: int) -> None:
    with gmpy2.context(precision=400):
        assert deviates._decay(over, bits) == int(gmpy2.floor(gmpy2.exp(gmpy2.mpfr(-1) / over) * 2**bits))


def test_a_word_equal_to_a_constant_is_settled_by_the_next() -> None:
    equal, following = deviates._decay(1, 64), deviates._decay(1, 128) % 2**64
    assert deviates._decays(1, 1, Scripted(equal, following - 1)).tolist() == [True]
    assert deviates._decays(1, 1, Scripted(equal, following + 1)).tolist() == [False]


def test_the_system_never_repeats_and_a_seed_always_does() -> None:
    assert not np.array_equal(SystemWords().words(4), SystemWords().words(4))
    assert np.array_equal(_source(1).words(4), _source(1).words(4))
    assert np.array_equal(np.concatenate([_source(1).words(2)]), _source(1).words(4)[:2])


def test_a_fraction_is_tried_once_more_than_its_whole_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every proposal, the largest one too: the power j + 1 of the chance that it is kept."""
    tried: list[int] = []

    def kept(found: Deviates, which: NDArray[np.intp], source: Words) -> NDArray[np.bool_]:
        tried.extend(which.tolist())
        return np.ones(which.size, dtype=bool)

    monkeypatch.setattr(deviates, "_successes", lambda size, over, source: np.resize([0, 1, 2, 3], size))
    monkeypatch.setattr(deviates, "_all_succeed", lambda times, over, source: np.ones(times.size, dtype=bool))
    monkeypatch.setattr(deviates, "_kept_normally", kept)
    whole = normal(SeededWords(np.random.default_rng(0)), 8).whole
    assert [tried.count(index) for index in range(8)] == [1, 2, 3, 4] * 2 == (whole + 1).tolist()
