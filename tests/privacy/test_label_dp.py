"""Label-DP ceilings: the printed numbers, linear programs over all mechanisms, and mechanisms that attain them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.statistics.profiles import ApproximateProfile, GaussianProfile
from labelinf_privacy.label_dp import (
    accuracy,
    approximate_accuracy,
    gaussian_accuracy,
    gaussian_mu_for,
    pure_accuracy,
    pure_exact,
)
from labelinf_privacy.randomised_response import keep_probability


@st.composite
def priors(draw: st.DrawFn, classes: tuple[int, int] = (2, 4)) -> tuple[float, ...]:
    n = draw(st.integers(*classes))
    weights = [draw(st.integers(1, 20)) for _ in range(n)]
    return tuple(weight / sum(weights) for weight in weights)


def best_guess(prior: tuple[float, ...], epsilon: float, delta: float) -> float:
    """The largest accuracy of any guess of an (epsilon, delta)-private answer, by linear programming.

    Variables: the probability of each guess given each label, and for every pair of labels how far each guess exceeds
    its share of ``e**epsilon``; all excesses of a pair together are at most delta.
    """
    k = len(prior)
    pairs = list(itertools.permutations(range(k), 2))
    size = k * k + len(pairs) * k
    gain = np.zeros(size)
    for label in range(k):
        gain[label * k + label] = -prior[label]
    rows, limits = [], []
    for number, (a, b) in enumerate(pairs):
        excess = slice(k * k + number * k, k * k + (number + 1) * k)
        for guess in range(k):
            row = np.zeros(size)
            row[a * k + guess], row[b * k + guess] = 1, -math.exp(epsilon)
            row[excess.start + guess] = -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(size)
        row[excess] = 1
        rows.append(row)
        limits.append(delta)
    sums = np.zeros((k, size))
    for label in range(k):
        sums[label, label * k : (label + 1) * k] = 1
    solved = scipy.optimize.linprog(gain, np.array(rows), limits, sums, np.ones(k), (0, 1), method="highs")
    return float(-solved.fun)


@pytest.mark.long
@settings(max_examples=40)
@given(priors(), st.floats(0, 5))
def test_the_pure_ceiling_is_the_best_of_all_mechanisms(prior: tuple[float, ...], epsilon: float) -> None:
    assert pure_accuracy(epsilon, prior) == pytest.approx(best_guess(prior, epsilon, 0.0), abs=1e-7)


@pytest.mark.long
@settings(max_examples=40)
@given(priors(), st.floats(0, 4), st.floats(0, 0.4))
def test_no_mechanism_beats_the_approximate_ceiling(prior: tuple[float, ...], epsilon: float, delta: float) -> None:
    ceiling, best = approximate_accuracy(epsilon, delta, prior), best_guess(prior, epsilon, delta)
    assert best <= ceiling + 1e-7
    if len(prior) == 2 or max(prior) - min(prior) < 1e-12:
        assert best == pytest.approx(ceiling, abs=1e-4)


@pytest.mark.long
@settings(max_examples=100)
@given(priors((2, 6)), st.floats(0, 6), st.floats(0, 0.9))
def test_no_ceiling_is_below_the_majority_guess(prior: tuple[float, ...], epsilon: float, delta: float) -> None:
    for ceiling in (
        pure_accuracy(epsilon, prior),
        approximate_accuracy(epsilon, delta, prior),
        gaussian_accuracy(epsilon, prior),
    ):
        assert max(prior) - 1e-12 <= ceiling <= 1


@settings(max_examples=30)
@given(st.floats(0.5, 0.95), st.floats(0.05, 5))
def test_two_classes_are_the_bayes_accuracy_under_gaussian_noise(share: float, mu: float) -> None:
    # N(0, 1) with the larger share against N(mu, 1): the threshold where the weighted densities meet.
    cut = math.log(share / (1 - share)) / mu + mu / 2
    bayes = share * scipy.stats.norm.cdf(cut) + (1 - share) * scipy.stats.norm.sf(cut - mu)
    assert gaussian_accuracy(mu, (share, 1 - share)) == pytest.approx(bayes, abs=1e-12)


@pytest.mark.parametrize(("k", "expected"), [(2, 0.69146), (3, 0.57806), (6, 0.42186), (10, 0.32900)])
def test_gaussian_dp_at_mu_one(k: int, expected: float) -> None:
    assert gaussian_accuracy(1.0, (1 / k,) * k) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_equal_shares_solve_the_trade_off_equation(k: int, mu: float) -> None:
    # A <= 1 - f((1 - A) / (K - 1)): Phi^-1(A) - Phi^-1((1 - A) / (K - 1)) = mu.
    def gap(a: float) -> float:
        return float(scipy.stats.norm.ppf(a) - scipy.stats.norm.ppf((1 - a) / (k - 1)) - mu)

    solved = scipy.optimize.brentq(gap, 1 / k, 1 - 1e-12)
    assert gaussian_accuracy(mu, (1 / k,) * k) == pytest.approx(solved, abs=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.4, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("prior", [(0.4, 0.35, 0.25), (0.7, 0.2, 0.1), (0.3, 0.3, 0.2, 0.2), (0.94, 0.03, 0.03)])
def test_no_level_gives_a_lower_ceiling_than_the_one_that_is_found(prior: tuple[float, ...], mu: float) -> None:
    """The formula of the module's head, at a hundred thousand levels."""
    shares, normal = np.array(prior), scipy.stats.norm
    levels = max(prior) * np.exp(np.geomspace(1e-9, 40, 100_000))[:, None]
    epsilon = np.log(levels / shares)
    beyond = shares * normal.cdf(mu / 2 - epsilon / mu) - levels * normal.cdf(-mu / 2 - epsilon / mu)
    weights = shares / (levels - shares)
    missed = levels + beyond.sum(axis=1, keepdims=True) - beyond
    averaged = (weights * missed).sum(axis=1) / (1 + weights.sum(axis=1))
    at_the_top = max(prior) + _beyond_the_top(prior, mu)
    assert gaussian_accuracy(mu, prior) == pytest.approx(min(1.0, averaged.min(), at_the_top), abs=1e-9)


def _beyond_the_top(prior: tuple[float, ...], mu: float) -> float:
    """``D_j`` at the level of the largest share, j its class."""
    top, *others = sorted(prior, reverse=True)
    profile = GaussianProfile(mu)
    return sum(share * profile.delta(math.log(top / share)) for share in others)


def test_the_printed_numbers() -> None:
    half = (0.5, 0.5)
    assert pure_accuracy(1.0, half) == pytest.approx(0.7310585786, abs=1e-10)
    assert [pure_accuracy(e, half) for e in (0.1, 0.5, 2.0)] == pytest.approx(
        [0.52497918747894, 0.6224593312018546, 0.8807970779778824], abs=1e-12
    )
    assert approximate_accuracy(1.0, 0.01, half) == pytest.approx(0.733748, abs=5e-7)
    assert approximate_accuracy(1.0, 0.02, (1 / 3,) * 3) == pytest.approx(0.584595, abs=5e-7)
    assert approximate_accuracy(0.5, 0.01, (0.25,) * 4) == pytest.approx(0.361115, abs=5e-7)
    assert pure_exact(1.0, half, 3) == pytest.approx(0.3907118049, abs=1e-10)
    assert pure_exact(2.0, half, 10) == pytest.approx(0.2810338623, abs=1e-10)


def test_the_exact_ceiling_is_attained_by_randomised_response() -> None:
    """All 8 x 8 pairs of labels and answers: guessing the answer is best, and right with the stated probability."""
    keep = keep_probability(1.0, 2)
    best = 0.0
    for answer in itertools.product((0, 1), repeat=3):
        likelihoods = [
            math.prod(keep if a == b else 1 - keep for a, b in zip(answer, labels, strict=True))
            for labels in itertools.product((0, 1), repeat=3)
        ]
        best += max(likelihoods) / 8
    assert best == pytest.approx(pure_exact(1.0, (0.5, 0.5), 3), abs=1e-12)


def test_mu_for_a_target_inverts_the_ceiling() -> None:
    for prior, target in (((0.5, 0.5), 0.6), ((0.6, 0.4), 0.7), ((0.2, 0.3, 0.5), 0.9)):
        assert gaussian_accuracy(gaussian_mu_for(target, prior), prior) == pytest.approx(target, abs=1e-9)
    with pytest.raises(ValueError, match=r"target=0\.5 must lie between the majority's share 0\.6 and 1\."):
        gaussian_mu_for(0.5, (0.6, 0.4))


def test_one_class_is_known() -> None:
    assert accuracy(GaussianProfile(1.0), (1.0, 0.0)) == 1.0
    assert accuracy(ApproximateProfile(0.0), (0.3, 0.7)) == pytest.approx(0.7)
