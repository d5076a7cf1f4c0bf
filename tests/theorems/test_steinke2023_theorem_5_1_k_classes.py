"""T9: the epsilon that one run proves, to the printed digits (Steinke, Nasr and Jagielski, NeurIPS 2023)."""

from __future__ import annotations

import time
from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest

from labelinf_core.statistics.epsilon_bounds import epsilon_lower_bound, one_run_epsilon

CASES = [
    (262, 520, 2, 0.0),
    (300, 520, 2, 0.1606),
    (90, 100, 2, 1.6308),
    (100, 100, 2, 3.4930),
    (500, 500, 2, 5.1144),
    (731, 1000, 2, 0.8806),
    (446, 500, 2, 1.8696),
    (731, 1000, 10, 3.0778),
]


@pytest.mark.parametrize(("correct", "guesses", "n_classes", "epsilon"), CASES)
def test_the_bound_has_the_printed_digits(correct: int, guesses: int, n_classes: int, epsilon: float) -> None:
    assert round(epsilon_lower_bound(correct, guesses, n_classes=n_classes, beta=0.05), 4) == epsilon


@pytest.mark.long
@pytest.mark.parametrize(("correct", "guesses", "n_classes", "epsilon"), [case for case in CASES if case[3] > 0])
def test_the_bound_is_the_largest_epsilon_that_exact_arithmetic_refutes(
    correct: int, guesses: int, n_classes: int, epsilon: float
) -> None:
    def tail(at: float) -> Fraction:
        odds = Fraction(exp(at)).limit_denominator(10**5)
        q = odds / (odds + n_classes - 1)
        return sum(
            (comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(correct, guesses + 1)), Fraction(0)
        )

    found = epsilon_lower_bound(correct, guesses, n_classes=n_classes, beta=0.05)
    assert round(found, 4) == epsilon
    assert tail(found - 1e-4) < Fraction(1, 20) < tail(found + 1e-4)


def test_a_call_takes_less_than_two_milliseconds() -> None:

    ranked = np.arange(1000) < 731
    one_run_epsilon(ranked, n_canaries=1000)
    start = time.process_time()
    for _ in range(100):
        one_run_epsilon(ranked, n_canaries=1000)
    assert (time.process_time() - start) / 100 < 2e-3
