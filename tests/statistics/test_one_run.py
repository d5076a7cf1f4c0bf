"""What f-DP says of one run, against the linear programme it solves, by enumeration and by simulation."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog

from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.one_run import tail_probability
from labelinf_core.statistics.profiles import ApproximateProfile, GaussianProfile, normal_cdf


def programme(correct: int, r: int, epsilon: float, delta: float, k: int, m: int) -> float:
    """The largest P[N >= correct] of any law with the inequalities ``A_j <= h(B_(j-1) / (K - 1))``, j = 1..correct."""
    counts = np.arange(r + 1)
    rows, limits = [], []
    for j in range(1, correct + 1):
        right = np.where(counts >= j, counts, 0) / m
        wrong = np.where(counts >= j - 1, r - counts, 0) / (m * (k - 1))
        rows += [right - math.exp(epsilon) * wrong, right - math.exp(-epsilon) * wrong]
        limits += [delta, 1 - math.exp(-epsilon) * (1 - delta)]
    found = linprog(np.where(counts >= correct, -1, 0), A_ub=rows, b_ub=limits, A_eq=[np.ones(r + 1)], b_eq=[1])
    return float(-found.fun)


@pytest.mark.long
@given(st.integers(1, 12), st.data(), st.floats(0.05, 3), st.floats(1e-4, 0.2), st.integers(2, 5), st.integers(0, 6))
@settings(max_examples=30)
def test_the_recursion_is_the_optimum_of_its_linear_programme(
    r: int, data: st.DataObject, epsilon: float, delta: float, k: int, abstained: int
) -> None:
    correct = data.draw(st.integers(1, r))
    privacy = ApproximateProfile(epsilon, delta)

    found = tail_probability(correct, r, privacy, n_classes=k, n_canaries=r + abstained)

    assert found == pytest.approx(programme(correct, r, epsilon, delta, k, r + abstained), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("k", "m", "keep"), [(2, 3, 0.8), (3, 3, 0.6), (4, 2, 0.5)])
def test_the_law_of_randomised_response_stays_below_the_bound(k: int, m: int, keep: float) -> None:
    """The best guesser of pure DP is right binomially often, and the bound of counts alone is no sharper than that."""
    epsilon = math.log(keep * (k - 1) / (1 - keep))
    law = stats.binom.sf(np.arange(m + 1) - 1, m, keep)

    for correct in range(1, m + 1):
        bound = tail_probability(correct, m, ApproximateProfile(epsilon), n_classes=k, n_canaries=m)
        assert law[correct] <= bound + 1e-12


@pytest.mark.parametrize("profile", [ApproximateProfile(0.7, 0.01), ApproximateProfile(2.0), GaussianProfile(1.3)])
def test_the_least_probability_of_a_neighbour_inverts_the_trade_off(
    profile: ApproximateProfile | GaussianProfile,
) -> None:
    """``P(E) <= delta(eps) + e^eps Q(E)`` for all eps, and for one eps with equality."""
    grid = np.linspace(-12, 12, 4001)
    for probability in (0.001, 0.05, 0.3, 0.5, 0.9, 0.999):
        least = profile.least(probability)
        slack = np.array([profile.delta(e) + math.exp(e) * least for e in grid]) - probability
        assert slack.min() >= -1e-9
        assert least == 0 or slack.min() < 2e-3


def bounds(correct: np.ndarray, prove: Callable[[int], float]) -> np.ndarray:
    values, places = np.unique(correct, return_inverse=True)
    return np.array([prove(int(value)) for value in values])[places]


def gaussian_hits(runs: int, m: int, k: int, mu: float, rng: np.random.Generator) -> np.ndarray:
    """Whether the largest coordinate of a noisy one-hot label is the label, surest first; mu-Gaussian label-DP."""
    labels = rng.integers(0, k, (runs, m))
    said = np.eye(k)[labels] + math.sqrt(2) / mu * rng.standard_normal((runs, m, k))
    top = np.sort(said, axis=2)
    order = np.argsort(top[..., -2] - top[..., -1], axis=1)
    return np.take_along_axis(said.argmax(axis=2) == labels, order, axis=1)


@pytest.mark.parametrize(("k", "mu"), [(2, 1.0), (10, 2.0)])
def test_gaussian_noise_is_not_accused_of_more_than_it_tells(k: int, mu: float) -> None:
    """By simulation, 1 000 audits; above 7 % has probability below .003 when the true rate is 5 %."""
    hits = gaussian_hits(1000, 60, k, mu, np.random.default_rng(0))

    for guesses in (60, 15):
        prove = functools.partial(epsilon_bounds.mu_lower_bound, guesses=guesses, n_classes=k, n_canaries=60)
        proved = bounds(hits[:, :guesses].sum(axis=1), prove)
        assert (proved > mu).mean() <= 0.07
        assert proved.mean() > 0.2 * mu


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(4, 0.5, 0.02), (10, 1.0, 0.01)])
def test_many_classes_are_not_accused_when_everything_is_told_with_probability_delta(
    k: int, epsilon: float, delta: float
) -> None:
    """(eps, delta) with K > 2: all labels at once with probability delta, else randomised response."""
    rng, runs, m = np.random.default_rng(1), 4000, 100
    correct = np.where(rng.random(runs) < delta, m, rng.binomial(m, epsilon_bounds.label_dp_ceiling(epsilon, k), runs))

    known = {"n_classes": k, "delta": delta, "n_canaries": m}
    p = bounds(correct, lambda c: epsilon_bounds.claim_p_value(c, m, epsilon, **known))

    for alpha in (0.01, 0.05, 0.1):
        assert (p <= alpha).mean() <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / runs)
    assert epsilon_bounds.epsilon_lower_bound(m, m, **known) > epsilon


def test_the_p_value_is_where_the_bound_says_it_is() -> None:
    for correct, k in itertools.product((30, 38), (2, 5)):
        known = {"n_classes": k, "n_canaries": 40}
        mu = epsilon_bounds.mu_lower_bound(correct, 40, **known)
        assert epsilon_bounds.mu_p_value(correct, 40, mu, **known) == pytest.approx(epsilon_bounds.BETA, rel=1e-6)
        epsilon = epsilon_bounds.epsilon_lower_bound(correct, 40, delta=1e-3, **known)
        p = epsilon_bounds.claim_p_value(correct, 40, epsilon, delta=1e-3, **known)
        assert p == pytest.approx(epsilon_bounds.BETA, rel=1e-6)


def test_nothing_right_proves_nothing_and_no_claim_is_not_refuted() -> None:
    assert epsilon_bounds.mu_lower_bound(0, 10, n_canaries=10) == 0.0
    assert tail_probability(0, 10, GaussianProfile(0.0), n_canaries=10) == 1.0
    assert epsilon_bounds.mu_p_value(10, 10, math.inf, n_canaries=10) == 1.0


def test_a_claim_of_nothing_told_is_a_matter_of_luck() -> None:
    """mu = 0 leaves chance: the bound is no smaller than the binomial tail, and refutes what cannot be luck."""
    p = tail_probability(55, 60, GaussianProfile(0.0), n_canaries=60)

    assert stats.binom.sf(54, 60, 0.5) <= p < 1e-8
    assert normal_cdf(0.0) == 0.5
