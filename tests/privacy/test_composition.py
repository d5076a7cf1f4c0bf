"""Composition: exact small cases, independent integrals, diffprivlib's accountant, and the printed numbers."""

from __future__ import annotations

import itertools
import math

import diffprivlib
import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.statistics.profiles import ApproximateProfile, GaussianProfile
from labelinf_privacy.composition import (
    PureProduct,
    advanced_epsilon,
    ever_scored,
    sensitivity,
)
from labelinf_privacy.label_dp import accuracy
from labelinf_privacy.laplace_product import LaplaceProduct, one_answer_delta


def test_the_printed_advanced_composition() -> None:
    assert advanced_epsilon(0.01, 100, 1e-6) == pytest.approx(0.5357023440598612, rel=1e-12)


def test_tight_composition_is_no_worse_than_diffprivlib() -> None:
    # The accountant's bound (Kairouz, Oh and Viswanath, Theorem 3.4) may be loose; ours is exact for the worst case.
    accountant = diffprivlib.BudgetAccountant(slack=1e-6)
    for _ in range(100):
        accountant.spend(0.1, 0.0)
    epsilon, delta = accountant.total()
    ours = PureProduct(epsilon=0.1, queries=100).delta(epsilon)
    assert delta == pytest.approx(1e-6)
    assert 0 < ours <= delta


@pytest.mark.long
@settings(max_examples=60)
@given(st.integers(1, 6), st.floats(0, 3), st.floats(-8, 8))
def test_a_pure_product_is_the_sum_over_all_answers(queries: int, budget: float, epsilon: float) -> None:
    keep = 1 / (1 + math.exp(-budget))
    expected = 0.0
    for answers in itertools.product((0, 1), repeat=queries):
        p = math.prod(keep if a else 1 - keep for a in answers)
        q = math.prod(1 - keep if a else keep for a in answers)
        expected += max(0.0, p - math.exp(epsilon) * q)
    assert PureProduct(epsilon=budget, queries=queries).delta(epsilon) == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
@settings(max_examples=60)
@given(st.floats(0.01, 5), st.floats(-6, 6))
def test_one_laplace_answer_is_the_integral_it_stands_for(budget: float, epsilon: float) -> None:
    # Densities of scale 1 around 0 and around -budget; the likelihood ratio rises from e**-budget to e**budget.
    grid = np.linspace(-60, 60, 48_001)
    p, q = np.exp(-abs(grid)) / 2, np.exp(-abs(grid + budget)) / 2
    value = np.maximum(p - math.exp(epsilon) * q, 0).sum() * (grid[1] - grid[0])
    assert one_answer_delta(budget, epsilon) == pytest.approx(value, abs=3e-3)


def two_answers(budget: float, epsilon: float) -> float:
    """The profile of two Laplace answers, by integrating over the loss of the first.

    A loss is ``budget`` with probability 1/2, ``-budget`` with ``e**-budget / 2``, and has density
    ``exp(-(budget - loss) / 2) / 4`` between.
    """

    def rest(loss: float) -> float:
        return one_answer_delta(budget, epsilon - loss)

    between, _ = scipy.integrate.quad(
        lambda loss: math.exp(-(budget - loss) / 2) / 4 * rest(loss),
        -budget,
        budget,
        points=sorted({min(max(point, -budget), budget) for point in (epsilon - budget, epsilon + budget, epsilon)}),
    )
    return rest(budget) / 2 + math.exp(-budget) / 2 * rest(-budget) + between


@pytest.mark.parametrize("budget", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4, 3.0])
def test_two_laplace_answers_agree_with_an_integral(budget: float, epsilon: float) -> None:
    ours = LaplaceProduct(epsilon=budget, queries=2).delta(epsilon)
    exact = two_answers(budget, epsilon)
    assert exact - 1e-9 <= ours <= exact + 1e-5 * budget**2


@pytest.mark.long
def test_the_total_variation_of_a_hundred_answers_agrees_with_a_simulation() -> None:
    """``1 - E min(1, e**-loss) / 2`` over 100 000 draws; a true value would be missed with probability below 1e-5."""
    rng = np.random.default_rng(0)
    terms = []
    for _ in range(20):
        drawn = rng.laplace(0, 1, (5_000, 100))
        loss = (np.abs(drawn + 0.1) - np.abs(drawn)).sum(axis=1)
        terms.append(1 - np.minimum(1, np.exp(-loss)) / 2)
    simulated = np.concatenate(terms)
    error = simulated.std() / math.sqrt(simulated.size)
    exact = (1 + LaplaceProduct(epsilon=0.1, queries=100).delta(0.0)) / 2
    assert exact == pytest.approx(0.68874, abs=1e-5)
    assert abs(simulated.mean() - exact) < 4.5 * error


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.1, 0.524385287749643), (0.5, 0.6105996084642975), (1.0, 0.6967346701436833), (2.0, 0.8160602794142788)],
)
def test_one_laplace_answer_exactly(epsilon: float, expected: float) -> None:
    assert (1 + LaplaceProduct(epsilon=epsilon, queries=1).delta(0)) / 2 == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
@settings(max_examples=30)
@given(st.floats(0.01, 2), st.integers(1, 300), st.floats(-5, 5))
def test_laplace_is_more_private_than_the_worst_pure_mechanism(budget: float, queries: int, epsilon: float) -> None:
    laplace = LaplaceProduct(epsilon=budget, queries=queries).delta(epsilon)
    worst = PureProduct(epsilon=budget, queries=queries).delta(epsilon)
    # Between its grid points the computed profile is at most the square of the step too large.
    assert laplace <= worst + 1e-4 * budget**2 + 1e-9
    assert laplace <= ApproximateProfile(budget * queries).delta(epsilon) + 1e-4 * budget**2 + 1e-9


@pytest.mark.long
@settings(max_examples=20)
@given(st.floats(-8, 8), st.integers(1, 10**6), st.floats(-50, 50))
def test_profiles_are_proper_over_many_decades(size: float, queries: int, at: float) -> None:
    for profile in (
        LaplaceProduct(epsilon=10**size, queries=min(queries, 1000)),
        PureProduct(epsilon=10**size, queries=min(queries, 1000)),
        GaussianProfile(10**size * math.sqrt(queries)),
        ApproximateProfile(10**size * queries),
    ):
        assert max(0.0, -math.expm1(at)) - 1e-9 <= profile.delta(at) <= 1
        assert 0.5 <= accuracy(profile, (0.5, 0.5)) <= 1
        assert 0.4 <= accuracy(profile, (0.4, 0.3, 0.3)) <= 1


def test_answers_that_tell_everything_have_no_ceiling() -> None:
    for epsilon in (49.0, 51.0, 1e3, 1e6):
        for queries in (1, 2, 1000):
            assert accuracy(LaplaceProduct(epsilon=epsilon, queries=queries), (0.5, 0.5)) == pytest.approx(1, abs=1e-9)
            assert accuracy(PureProduct(epsilon=epsilon, queries=queries), (0.5, 0.5)) == pytest.approx(1, abs=1e-9)


def test_more_answers_than_the_grid_holds_still_have_a_ceiling() -> None:
    profile = LaplaceProduct(epsilon=1e-7, queries=2_000_000)
    assert profile.delta(0.0) == pytest.approx(1 - math.exp(-0.2), rel=1e-9)


def test_many_small_answers_tend_to_gaussian_dp() -> None:
    many = LaplaceProduct(epsilon=0.01, queries=10_000).delta(0.0)
    assert many == pytest.approx(GaussianProfile(1.0).delta(0.0), abs=1e-3)


def test_gaussian_answers_compose_exactly() -> None:
    # The sum of q answers is sufficient: one answer with q times the shift and sqrt(q) times the noise.
    assert accuracy(GaussianProfile(0.1 * math.sqrt(100)), (0.5, 0.5)) == pytest.approx(0.69146, abs=5e-6)


def test_a_record_is_ever_scored() -> None:
    assert ever_scored(0.3, 1) == pytest.approx(0.3)
    assert ever_scored(0.3, 3) == pytest.approx(1 - 0.7**3)
    assert ever_scored(1.0, 5) == 1.0


def test_sensitivity_is_the_span_over_n() -> None:
    assert sensitivity(4.6, 23) == pytest.approx(0.2)
    assert math.isinf(sensitivity(math.inf, 23))


@pytest.mark.parametrize("queries", [7, 333, 3000])
def test_a_delta_is_a_probability(queries: int) -> None:
    """Masses that are added up in doubles may be more than one together."""
    assert PureProduct(epsilon=0.01, queries=queries).delta(-100.0) <= 1
