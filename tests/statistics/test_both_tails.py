"""Right and wrong guesses in one test: against linear programmes over all laws, and exactly under the worst ones."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from labelinf_core.statistics.both_tails import WRONG_SHARE, both_tails_epsilon, both_tails_p_value
from labelinf_core.statistics.epsilon_bounds import BETA, epsilon_lower_bound


@functools.lru_cache
def bounds(guesses: int, n_classes: int) -> NDArray[np.float64]:
    """What every number of right guesses proves."""
    return np.array([both_tails_epsilon(n, guesses, n_classes=n_classes) for n in range(guesses + 1)])


def most_probable(told: NDArray[np.bool_], epsilon: float, n_classes: int) -> float:
    """The probability of ``told`` counts under the worst posterior, as a linear programme over q(n)."""
    guesses = told.size - 1
    weights = np.array([math.comb(guesses, n) * (n_classes - 1) ** (guesses - n) for n in range(guesses + 1)], float)
    steps = np.zeros((2 * guesses, guesses + 1))
    for n in range(guesses):
        steps[2 * n, [n, n + 1]] = -math.exp(epsilon), 1
        steps[2 * n + 1, [n, n + 1]] = 1, -math.exp(epsilon)
    # Unknown is the mass of each count, not q itself: better scaled.
    found = optimize.linprog(-told.astype(float), steps / weights, np.zeros(2 * guesses), [np.ones(guesses + 1)], [1])
    assert found.success
    return -float(found.fun or 0.0)


@pytest.mark.parametrize(("guesses", "n_classes"), [(1, 2), (5, 3), (9, 2), (12, 4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 2.5])
def test_no_law_that_label_dp_allows_is_worse(guesses: int, n_classes: int, epsilon: float) -> None:
    counts = range(guesses + 1)
    p = np.array([both_tails_p_value(n, guesses, epsilon, n_classes=n_classes) for n in counts])
    for n in counts:
        told = p <= p[n]
        if p[n] < 1:  # the counts that tell as much are the smaller and the larger ones
            assert p[n] == pytest.approx(most_probable(told, epsilon, n_classes), rel=1e-6)


def vertex_laws(guesses: int, epsilon: float, n_classes: int) -> NDArray[np.float64]:
    """Every extreme law with one vertex, and its mirror image, by plain sums of logarithms."""
    n = np.arange(guesses + 1)
    weights = stats.binom.logpmf(n, guesses, 1 / n_classes)
    shapes = [sign * epsilon * np.abs(n - vertex) for vertex in range(-1, guesses + 2) for sign in (-1, 1)]
    logs = weights + np.array(shapes)
    laws = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


@pytest.mark.long
@pytest.mark.parametrize(("guesses", "n_classes"), [(30, 2), (30, 10), (200, 2), (300, 10)])
def test_the_bound_is_above_the_truth_in_at_most_beta_under_every_such_law(guesses: int, n_classes: int) -> None:
    proved = bounds(guesses, n_classes)
    for epsilon in (0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0):
        above = vertex_laws(guesses, epsilon, n_classes)[:, proved > epsilon + 1e-9].sum(axis=1)
        assert above.max() <= BETA * (1 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("guesses", "n_classes"), [(40, 2), (200, 2), (100, 10), (20, 300)])
def test_it_proves_at_least_what_each_tail_proves_alone(guesses: int, n_classes: int) -> None:
    for right in range(guesses + 1):
        alone = max(
            epsilon_lower_bound(right, guesses, n_classes=n_classes, beta=BETA * (1 - WRONG_SHARE)),
            epsilon_lower_bound(guesses - right, guesses, n_classes=n_classes, beta=BETA * WRONG_SHARE, wrong=True),
        )
        assert bounds(guesses, n_classes)[right] >= alone - 1e-6


@pytest.mark.long
@pytest.mark.parametrize(("guesses", "n_classes"), [(200, 2), (300, 10)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_it_proves_what_right_guesses_alone_would_prove(guesses: int, n_classes: int, epsilon: float) -> None:
    """Within 2 % of the mean of the exact binomial bound at the whole error probability, of randomised response."""
    odds = math.exp(epsilon)
    law = stats.binom.pmf(np.arange(guesses + 1), guesses, odds / (odds + n_classes - 1))
    both = law @ bounds(guesses, n_classes)
    right = law @ [epsilon_lower_bound(n, guesses, n_classes=n_classes) for n in range(guesses + 1)]

    assert 0.98 * right <= both <= right + 1e-6


@pytest.mark.parametrize(("right", "n_classes", "proved"), [(200, 2, 4.194), (0, 2, 4.194), (0, 10, 1.711)])
def test_what_none_and_all_of_200_prove(right: int, n_classes: int, proved: float) -> None:
    """The worked example of T9d."""
    assert both_tails_epsilon(right, 200, n_classes=n_classes) == pytest.approx(proved, abs=5e-4)


def test_all_wrong_of_two_classes_is_all_right() -> None:
    assert both_tails_epsilon(0, 170, n_classes=2) == pytest.approx(both_tails_epsilon(170, 170, n_classes=2))
    assert both_tails_epsilon(0, 0, n_classes=2) == 0.0
    assert both_tails_p_value(0, 0, 1.0, n_classes=2) == both_tails_p_value(5, 5, math.inf, n_classes=2) == 1.0
