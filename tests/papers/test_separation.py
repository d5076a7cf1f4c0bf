"""The separation of a design, against all pairs of labellings."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_papers.certificates.separation import LARGEST_CORE, LARGEST_WIDE_CORE, Separation, separation
from labelinf_papers.certificates.signed_sums import least_signed_sum
from labelinf_scores.constructions.conway_guy import conway_guy_weights


def by_brute_force(gaps: list[Fraction]) -> Fraction:
    sums = sorted(
        sum(itertools.compress(gaps, chosen), Fraction(0)) for chosen in itertools.product((0, 1), repeat=len(gaps))
    )
    return min(b - a for a, b in itertools.pairwise(sums))


@settings(max_examples=60)
@given(st.lists(st.fractions(-40, 40, max_denominator=5), min_size=1, max_size=7))
def test_it_is_the_least_distance_of_two_labellings(gaps: list[Fraction]) -> None:
    assert separation(gaps).value == by_brute_force(gaps)


@settings(max_examples=40)
@given(st.lists(st.integers(2**40, 2**41), min_size=2, max_size=9))
def test_wide_numbers_are_searched_by_halves(gaps: list[int]) -> None:
    assert separation(gaps).value == by_brute_force([Fraction(gap) for gap in gaps])


@settings(max_examples=40)
@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=9), st.sampled_from([1, 4, 50, 10_000]))
def test_windows_of_any_size_find_the_same(gaps: list[int], window: int) -> None:
    """Of few sums a window, most hold none of one half; sums that meet at a window's edge are not lost."""
    assert least_signed_sum(np.array(gaps), window) == by_brute_force([Fraction(gap) for gap in gaps])


def test_a_sum_of_one_half_alone_may_be_the_least() -> None:
    assert least_signed_sum(np.array([2**50, 7, 2**50 + 3, 2**30])) == 3
    assert least_signed_sum(np.array([2**50, 2**40, 2**50 + 2**20, 2**30, 2**20, 1])) == 0


def test_twenty_gaps_agree_with_the_search_over_wide_numbers() -> None:
    """The same gaps, once by windows and once, made too wide for 62 bits, by the table of one half."""
    gaps = [int(gap) for gap in np.random.default_rng(2).integers(2**44, 2**45, LARGEST_WIDE_CORE)]
    found = separation(gaps).value
    assert found == separation([gap << 40 for gap in gaps] + [2**200]).value / 2**40
    assert 0 <= found < 2**45 * 20 / 2**20


def test_wide_gaps_are_searched_from_62_bits_together_on() -> None:
    """So many are searched in 64 bits up to there, and given up beyond, where sums would need more than a word."""
    count = LARGEST_WIDE_CORE + 1
    for total, known in ((2**62 - 1, True), (2**62, False)):
        gaps = [total // count - 3 * i for i in range(count - 1)]
        gaps.append(total - sum(gaps))
        assert (separation(gaps).value is not None) is known


@pytest.mark.slow
def test_thirty_six_gaps_take_seconds() -> None:
    """A planted pair: the last gap is the sum of some others but for 1; gaps of 56 bits do not meet by chance."""
    gaps = [3 * int(gap) for gap in np.random.default_rng(3).integers(2**50, 2**51, 36)]
    gaps[-1] = sum(gaps[:17]) - sum(gaps[17:33]) + 1
    start = time.process_time()
    assert separation(gaps).value <= 1
    assert time.process_time() - start < 120


@settings(max_examples=15)
@given(st.lists(st.integers(2**70, 2**71), min_size=2, max_size=7))
def test_numbers_beyond_64_bits_stay_exact(gaps: list[int]) -> None:
    assert separation(gaps).value == by_brute_force([Fraction(gap) for gap in gaps])


def test_superincreasing_gaps_have_a_closed_form_at_any_length() -> None:
    assert separation([2**i for i in range(500)]) == Separation(Fraction(1))
    assert separation([0.5, 0.75, 2.0]).value == Fraction(1, 4)


def test_superincreasing_gaps_above_a_core_are_peeled_off() -> None:
    core = [int(gap) for gap in np.random.default_rng(0).integers(2**45, 2**46, 12)]
    above = [2**60 * 3**i for i in range(200)]
    assert separation(core + above).value == by_brute_force([Fraction(gap) for gap in core])


def test_small_whole_gaps_are_decided_at_any_length() -> None:
    assert separation(conway_guy_weights(20)).value == 1
    assert separation([5, 9] + [100] * 1000).value == 0


def test_a_gap_of_zero_separates_nothing() -> None:
    assert separation([0, 1]).value == 0


def test_what_is_too_hard_is_not_certified() -> None:
    gaps = [int(gap) for gap in np.random.default_rng(1).integers(2**50, 2**51, LARGEST_CORE + 1)]
    verdict = separation(gaps)
    assert verdict.value is None
    assert verdict.reason == f"{LARGEST_CORE + 1} gaps overlap; the least difference of their sums is too hard to find"


@pytest.mark.parametrize(("gaps", "expected"), [([3, 5, 6, 7], 1), ([1, 2, 3], 0), ([-4, 2, 1], 1)])
def test_examples(gaps: list[int], expected: int) -> None:
    assert separation(gaps).value == expected
