"""p-values of guesses: exact where they say so, never too small, one where nothing is shown."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from labelinf_core.statistics.proportions import (
    betting_p_value,
    combined,
    game_p_value,
    holm,
    no_query_p_value,
    p_value,
)


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("probability", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10)])
def test_the_tail_of_a_binomial_is_counted_out(n: int, probability: Fraction) -> None:
    for correct in range(n + 1):
        tail = sum(math.comb(n, k) * probability**k * (1 - probability) ** (n - k) for k in range(correct, n + 1))
        assert p_value(correct, n, float(probability)) == pytest.approx(float(tail), rel=1e-12)


def test_nothing_is_shown_by_no_correct_guess_or_a_certain_one() -> None:
    assert p_value(0, 5, 0.5) == p_value(-1, 5, 0.5) == 1.0
    assert p_value(5, 5, 1.0) == p_value(5, 5, 1.5) == 1.0
    assert p_value(1, 5, 0.0) == 0.0


def test_fishers_product_is_exact_for_two() -> None:
    """P[U V <= x] = x (1 - ln x) for two uniform numbers."""
    x = 0.04 * 0.3
    assert combined([0.04, 0.3]) == pytest.approx(x * (1 - math.log(x)), rel=1e-12)
    assert combined([0.2]) == pytest.approx(0.2, rel=1e-12)
    assert combined([]) == 1.0
    assert 0.0 <= combined([0.0]) < 1e-300


def test_bits_of_advice_multiply_the_tail_of_one_game() -> None:
    tail = p_value(9, 10, 0.5)

    assert game_p_value(9, 10, share=0.5, bits=0) == pytest.approx(tail, rel=1e-12)
    assert game_p_value(9, 10, share=0.5, bits=2) == pytest.approx(4 * tail, rel=1e-12)
    assert game_p_value(9, 10, share=0.5, bits=50) == 1.0
    assert 0.0 < game_p_value(10_000, 10_000, share=0.01, bits=0) < 1e-300


def test_a_bet_at_fair_odds_is_paid_by_hand() -> None:
    """Two shares at a mean of one half: a part b of the wealth returns (1 + b)(1 - b / 2)."""
    parts = [1 / 64, 1 / 16, 1 / 4, 1 / 2, 1]
    wealth = sum((1 - b + b * 2.0) * (1 - b + b * 0.5) for b in parts) / 5
    assert betting_p_value([1.0, 0.25], 0.5) == pytest.approx(1 / wealth, rel=1e-12)
    assert betting_p_value([0.8] * 3, 0.2) == pytest.approx(0.0569, abs=5e-5)
    assert betting_p_value([0.8], 0.8) == betting_p_value([0.1, 0.2], 0.8) == betting_p_value([], 0.5) == 1.0
    assert betting_p_value([0.0, 0.5], 0.0) == betting_p_value([0.5], -1.0) == 0.0
    assert betting_p_value([0.0], 0.0) == betting_p_value([], 0.0) == 1.0


def test_a_bet_is_won_no_more_often_than_its_p_value_says() -> None:
    """Every sequence of four coin tosses: the shares of sequences with p <= level are at most the level."""
    found = [betting_p_value(list(map(float, tosses)), 0.5) for tosses in itertools.product((0, 1), repeat=4)]

    for level in found:
        assert np.mean(np.asarray(found) <= level) <= level


@pytest.mark.parametrize(("n", "classes"), [(6, (3, 3)), (8, (5, 3)), (7, (4, 2, 1))])
def test_guesses_without_a_look_are_never_surer_than_all_orders_say(n: int, classes: tuple[int, ...]) -> None:
    """Guessing the most frequent class for g of the records: hypergeometric, and Chernoff's bound lies above."""
    share = max(classes) / n
    for guesses in range(1, n + 1):
        for correct in range(guesses + 1):
            exact = stats.hypergeom.sf(correct - 1, n, max(classes), guesses)
            assert no_query_p_value(correct, guesses, share) >= exact - 1e-12


def test_chernoffs_bound_by_hand_and_at_its_ends() -> None:
    """Eight of ten at one half: exp(-10 (.8 ln 1.6 + .2 ln .4))."""
    by_hand = math.exp(-10 * (0.8 * math.log(1.6) + 0.2 * math.log(0.4)))
    assert no_query_p_value(8, 10, 0.5) == pytest.approx(by_hand, rel=1e-12)
    assert no_query_p_value(10, 10, 0.5) == pytest.approx(2.0**-10, rel=1e-12)
    assert no_query_p_value(5, 10, 0.5) == no_query_p_value(0, 10, 0.0) == 1.0
    assert no_query_p_value(1, 10, 0.0) == 0.0


def test_holm_adjusts_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.9, 0.6]) == (1.0, 1.0)
    assert holm([0.02]) == (0.02,)
    assert holm([]) == ()
