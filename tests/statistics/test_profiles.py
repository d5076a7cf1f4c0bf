"""Privacy profiles: closed forms against integrals and dual definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.statistics.profiles import ApproximateProfile, GaussianProfile, gaussian_mu, normal_cdf


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [-3.0, 0.0, 0.5, 6.0])
def test_the_gaussian_profile_is_the_integral_it_stands_for(mu: float, epsilon: float) -> None:
    def excess(x: float) -> float:
        return max(0.0, scipy.stats.norm.pdf(x - mu) - math.exp(epsilon) * scipy.stats.norm.pdf(x))

    kink = epsilon / mu + mu / 2
    value, _ = scipy.integrate.quad(excess, kink, max(kink, 0) + 15 + mu, epsabs=1e-12)
    assert GaussianProfile(mu).delta(epsilon) == pytest.approx(value, abs=1e-9)


@pytest.mark.long
@settings(max_examples=100)
@given(st.floats(0.01, 20), st.floats(0, 30))
def test_a_symmetric_pair_reads_the_same_from_both_sides(mu: float, epsilon: float) -> None:
    profile = GaussianProfile(mu)
    mirrored = -math.expm1(-epsilon) + math.exp(-epsilon) * profile.delta(epsilon)
    assert profile.delta(-epsilon) == pytest.approx(mirrored, abs=1e-9, rel=1e-9)


@pytest.mark.long
@settings(max_examples=100)
@given(st.floats(0.0, 8), st.floats(0, 0.9), st.floats(-9, 9))
def test_the_worst_approximate_mechanism_has_the_profile(budget: float, at: float, epsilon: float) -> None:
    """It tells the label with probability ``at`` and answers by randomised response otherwise."""
    keep = 1 / (1 + math.exp(-budget))
    first = [at, (1 - at) * keep, (1 - at) * (1 - keep), 0.0]
    second = [0.0, (1 - at) * (1 - keep), (1 - at) * keep, at]
    expected = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(first, second, strict=True))
    assert ApproximateProfile(budget, at).delta(epsilon) == pytest.approx(expected, abs=1e-12)


def test_mu_round_trips_over_many_decades() -> None:
    for epsilon in (0.0, 0.1, 1.0, 10.0):
        for delta in (1e-12, 1e-6, 1e-2):
            assert GaussianProfile(gaussian_mu(epsilon, delta)).delta(epsilon) == pytest.approx(delta, rel=1e-6)


def test_the_limits_of_mu() -> None:
    assert GaussianProfile(0.0).delta(0.0) == 0.0
    assert GaussianProfile(math.inf).delta(5.0) == 1.0
    assert GaussianProfile(0.01).delta(700.0) == 0.0


def test_the_normal_cdf_is_accurate_in_the_tail() -> None:
    points = np.array([-30.0, -5.0, 0.0, 5.0])
    assert [normal_cdf(x) for x in points] == pytest.approx(scipy.stats.norm.cdf(points), rel=1e-12)
