"""E12: Delta-Margin's margin is not the one its text describes (Khan et al., BLIA, 2025, section 5.2)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from labelinf_outputs.attacks.delta_margin import margin


def test_the_formula_is_max_of_zero_and_2p_minus_1() -> None:
    p = np.array([Fraction(k, 64) for k in range(65)], dtype=float)  # exact in binary

    assert np.array_equal(margin(np.column_stack([1 - p, p])), np.maximum(0, 2 * p - 1))


def test_the_text_says_highest_minus_second_highest_which_differs_below_one_half() -> None:
    pair = np.array([[0.75, 0.25]])
    as_described = np.sort(pair, axis=1)[:, 1] - np.sort(pair, axis=1)[:, 0]

    assert margin(pair) == [0.0]
    assert as_described == [0.5]
