"""Noise on a grid: what is released, what is proved of it by enumeration, and the attack that noise in floats loses to.

Statistical tests use one fixed seed each; a correct sampler would fail one with probability below 1e-4 for a seed
chosen at random.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import gmpy2
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_privacy.laplace_product import LaplaceProduct, geometric_delta
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.noise.grid import GridNoise, decimal, fine_step, root_up, rounded_up
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_privacy.words import SeededWords, SystemWords

Masses = NDArray[np.float64]
STEPS = st.sampled_from([1.0, 0.5, 2.0**-20, 4.0, 1e-3, 1e-4, 0.3])
VALUES = st.floats(-1e6, 1e6) | st.integers(-50, 50).map(lambda k: k / 2) | st.sampled_from([0.49999999999999994, -0.0])


def _noise(step: float) -> GridLaplace:
    return GridLaplace(scale=step, step=step)


def _gaussian(scale: float, reach: int) -> Masses:
    """Probabilities of ``-reach .. reach`` under rounded normal noise of ``scale`` steps."""
    unit = NormalDist(0, scale)
    upper = [unit.cdf(0.5 - k) - unit.cdf(-0.5 - k) for k in range(1, reach + 1)]
    return np.array([*upper[::-1], 1 - 2 * unit.cdf(-0.5), *upper])


def _laplace(rate: float, reach: int) -> Masses:
    """The same of rounded Laplace noise, ``rate`` its epsilon a step."""
    upper = [math.exp(-rate * k) * math.sinh(rate / 2) for k in range(1, reach + 1)]
    return np.array([*upper[::-1], -math.expm1(-rate / 2), *upper])


def _geometric(rate: float, reach: int) -> Masses:
    upper = [math.exp(-rate * k) * math.tanh(rate / 2) for k in range(1, reach + 1)]
    return np.array([*upper[::-1], math.tanh(rate / 2), *upper])


def _product_delta(masses: Masses, moved: int, queries: int, epsilon: float) -> float:
    """Hockey-stick divergence of ``queries`` independent answers from those moved, over all tuples of answers."""
    padding = np.zeros(moved)
    here, there = np.concatenate([masses, padding]), np.concatenate([padding, masses])
    p, q = here, there
    for _ in range(queries - 1):
        p, q = np.multiply.outer(p, here).ravel(), np.multiply.outer(q, there).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


# --- the counterexample ------------------------------------------------------------------------------------------


def test_one_answer_of_noise_in_floats_names_the_score_and_one_on_the_grid_does_not() -> None:
    """0 and 1 under Laplace noise of scale 8: epsilon 1/8 on paper, one answer in thirty names the score in floats.

    ``1 + noise`` is a multiple of 2**-53 wherever it is between -1 and 1, and noise by itself seldom is.
    """
    rng = np.random.default_rng(1)
    noise = rng.laplace(0.0, 8.0, (2, 20_000))
    named = [np.mean((np.abs(x) < 0.25) & (x * 2.0**53 % 1 != 0)) for x in (noise[0], 1 + noise[1])]
    assert named[0] > 0.02
    assert named[1] == 0
    model = GridLaplace(scale=8.0, step=2.0**-10)
    for value in (0.0, 1.0):
        released = model.release(np.full(20_000, value), SeededWords(rng))
        assert (released * 2.0**10 % 1 == 0).all()


# --- what is released --------------------------------------------------------------------------------------------


@pytest.mark.long
@given(VALUES, STEPS)
def test_a_value_goes_to_the_nearest_step_exactly(value: float, step: float) -> None:
    (found,) = _noise(step).steps_of(np.array([value]))
    assert int(found) == math.floor(Fraction(value) / decimal(step) + Fraction(1, 2))


@given(VALUES, STEPS)
def test_exact_numbers_go_where_the_floats_do(value: float, step: float) -> None:
    exact = np.array([gmpy2.mpfr(value, 200)], dtype=object)
    assert _noise(step).steps_of(exact).tolist() == _noise(step).steps_of(np.array([value])).tolist()


@pytest.mark.long
@settings(max_examples=300)
@given(VALUES, st.floats(0, 20), STEPS)
def test_values_are_never_further_apart_than_the_steps_that_are_charged(
    value: float, apart: float, step: float
) -> None:
    """The mutant that rounds halves to even, as NumPy does, is two steps apart at 1/2 and 3/2."""
    model, other = _noise(step), value + apart * step
    first, second = model.steps_of(np.array([value, other]))
    assert second - first <= model.moved(abs(Fraction(other) - Fraction(value)))


def test_halves_to_even_would_break_the_sensitivity() -> None:
    values = np.array([0.5, 1.5])
    assert np.diff(np.rint(values)) == 2
    assert np.diff(_noise(1.0).steps_of(values)) == 1 == _noise(1.0).moved(Fraction(1))


@pytest.mark.parametrize("step", [1.0, 0.5, 4.0, 0.75, 3.0, 1e-3, 0.1, 0.3, 2.0**-20])
def test_what_lies_beside_a_half_goes_to_its_own_step(step: float) -> None:
    """The doubles around every half, and numbers nearer to it than doubles are."""
    exact = [(k + Fraction(1, 2)) * decimal(step) for k in range(-40, 40)]
    for half in exact:
        near = [math.nextafter(float(half), end) for end in (-math.inf, math.inf)] + [float(half)]
        told = [math.floor(Fraction(value) / decimal(step) + Fraction(1, 2)) for value in near]
        assert _noise(step).steps_of(np.array(near)).tolist() == told
        wide = [gmpy2.mpq(half) + sign * gmpy2.mpq(1, 2**200) for sign in (-1, 0, 1)]
        found = _noise(step).steps_of(np.array(wide, dtype=object))
        assert (found - found[2]).tolist() == [-1, 0, 0]


def test_what_is_no_number_is_released_all_the_same() -> None:
    for step in (0.5, 1e-3):
        wild = np.array([math.inf, -math.inf, math.nan, 1e300])
        assert _noise(step).steps_of(wild).tolist() == [2**52, -(2**52), 0, 2**52]


@pytest.mark.long
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), st.sampled_from([2.0**-12, 1e-3, 0.3]))
def test_what_is_released_is_a_function_of_whole_steps(values: list[float], step: float) -> None:
    model = GridGaussian(scale=5 * step, step=step)
    released = model.release(np.array(values), SeededWords(np.random.default_rng(1)))
    for value in released:
        nearest = round(Fraction(float(value)) / decimal(step))
        assert float(value) == float(nearest * decimal(step))


def test_value_and_noise_meet_as_integers() -> None:
    """The same words under any value: releases differ by whole steps, exactly as the values on the grid do."""
    model = Geometric(scale=0.05, step=1e-4)
    first, second = (model.release(np.array([v]), SeededWords(np.random.default_rng(3)))[0] for v in (0.2, 0.71234))
    assert round((second - first) / 1e-4) == 7123 - 2000
    assert second == round(second, 4)


def test_a_deployed_release_is_not_repeatable_and_an_evaluated_one_is() -> None:
    model, values = GridGaussian(scale=0.05), np.zeros(4)
    assert not np.array_equal(model.release(values, SystemWords()), model.release(values, SystemWords()))
    first, second = (model.release(values, SeededWords(np.random.default_rng(1))) for _ in range(2))
    assert np.array_equal(first, second)


# --- how far one record moves it ----------------------------------------------------------------------------------


def test_steps_moved_are_rounded_up() -> None:
    model = GridLaplace(scale=1.0, step=0.5)
    assert model.moved(Fraction(1)) == 2
    assert model.moved(Fraction(101, 100)) == 3
    assert model.moved(1.0) == 3  # a float is what is known to 40 bits: it may be a little more than 1
    assert model.moved(Fraction(1), dimension=10) == 11
    assert GridGaussian(scale=1.0, step=0.5).moved(Fraction(1)) == 2
    assert GridGaussian(scale=1.0, step=0.5).moved(Fraction(1), dimension=16) == 6
    with pytest.raises(ValueError, match="distance=inf must be finite"):
        model.moved(math.inf)


@pytest.mark.long
@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-3, 3)), min_size=1, max_size=6))
def test_vectors_move_no_further_than_is_charged(pairs: list[tuple[float, float]]) -> None:
    values = np.array([a for a, _ in pairs])
    others = np.array([a + b for a, b in pairs])
    exact = [abs(Fraction(b) - Fraction(a)) for a, b in zip(values.tolist(), others.tolist(), strict=True)]
    for model in (GridLaplace(scale=1.0, step=0.5), GridGaussian(scale=1.0, step=0.5)):
        between = np.abs(model.steps_of(others) - model.steps_of(values))
        if model.norm == 1:
            assert int(between.sum()) <= model.moved(sum(exact, Fraction(0)), len(pairs))
        else:
            length = root_up(math.ceil(sum(x * x for x in exact) * 2**80)) / 2**40
            assert Fraction(int((between**2).sum())) <= model.moved(length, len(pairs)) ** 2


@given(st.integers(0, 10**12))
def test_roots_are_rounded_up(value: int) -> None:
    assert value <= root_up(value) ** 2 < value + 1


@pytest.mark.long
@given(st.fractions(0, 1000))
def test_floats_are_rounded_up(value: Fraction) -> None:
    assert value <= Fraction(rounded_up(value)) <= value * (1 + Fraction(1, 2**51))


@given(st.floats(1e-12, 1e6))
def test_a_fine_step_costs_a_thousandth(distance: float) -> None:
    step = fine_step(distance)
    assert math.frexp(step)[0] == 0.5
    assert _noise(step).moved(distance) * decimal(step) <= Fraction(distance) * (1 + Fraction(1, 1000))


# --- what is proved, against enumeration ----------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "moved"), list(itertools.product([0.5, 1.0, 2.5], [1, 2, 3])))
@pytest.mark.parametrize("queries", [1, 2])
def test_rounded_normal_noise_is_never_worse_than_its_gaussian_curve(scale: float, moved: int, queries: int) -> None:
    masses = _gaussian(scale, math.ceil(9 * scale) + 2)
    proved = GridGaussian(scale=scale, step=1.0).privacy(moved, queries)
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 2.0):
        assert _product_delta(masses, moved, queries, epsilon) <= proved.delta(epsilon) + 1e-12


def test_the_discrete_gaussian_is_worse_than_that_curve() -> None:
    """Deviation of one step, one answer, one step: .69947 where Phi(1/2) is .69146: Phi is no ceiling there."""
    weights = np.exp(-(np.arange(-40, 41) ** 2) / 2.0)
    reached = (1 + _product_delta(weights / weights.sum(), 1, 1, 0.0)) / 2
    assert reached == pytest.approx(0.69947, abs=5e-6)
    assert reached > NormalDist().cdf(0.5) == pytest.approx((1 + GridGaussian(scale=1, step=1).privacy(1).delta(0)) / 2)


@pytest.mark.parametrize(("rate", "moved"), list(itertools.product([0.2, 1.0], [1, 2, 3])))
@pytest.mark.parametrize("queries", [1, 2])
def test_rounded_laplace_noise_is_never_worse_than_the_laplace_product(rate: float, moved: int, queries: int) -> None:
    masses = _laplace(rate, math.ceil(30 / rate))
    model = GridLaplace(scale=1.0, step=rate)
    for epsilon in (-0.5, 0.0, 0.3, 1.0):
        reached = _product_delta(masses, moved, queries, epsilon)
        assert reached <= model.privacy(moved, queries).delta(epsilon) + 1e-12
    likely = masses[moved:] / masses[:-moved]
    assert max(likely.max(), (1 / likely).max()) <= math.exp(model.epsilon_for(moved)) * (1 + 1e-9)


@pytest.mark.parametrize(("rate", "moved"), list(itertools.product([0.2, 1.0], [1, 2, 3])))
@pytest.mark.parametrize("queries", [1, 2])
def test_geometric_noise_has_exactly_its_own_product(rate: float, moved: int, queries: int) -> None:
    masses = _geometric(rate, math.ceil(30 / rate))
    model = Geometric(scale=1.0, step=rate)
    for epsilon in (-0.5, 0.0, 0.3, 1.0):
        exact = _product_delta(masses, moved, queries, epsilon)
        assert exact - 1e-12 <= model.privacy(moved, queries).delta(epsilon) <= exact + 1e-9


def test_geometric_noise_is_worse_than_the_laplace_product() -> None:
    assert Geometric(scale=1.0, step=1.0).privacy(1).delta(0.0) > GridLaplace(scale=1.0, step=1.0).privacy(1).delta(0.0)


@pytest.mark.parametrize("queries", [1, 3, 600])
def test_many_small_steps_are_real_laplace_noise_in_the_limit(queries: int) -> None:
    real = LaplaceProduct(epsilon=0.1, queries=queries)
    fine = LaplaceProduct(epsilon=0.1, queries=queries, moved=2000)
    for at in (0.0, 0.05, 0.2):
        assert real.delta(at) - 2e-8 <= fine.delta(at) <= real.delta(at) + 2e-4


@pytest.mark.long
@given(st.floats(0.01, 3.0), st.integers(1, 6), st.floats(-1.2, 1.2))
def test_one_geometric_answer_in_closed_form(epsilon: float, moved: int, share: float) -> None:
    rate = epsilon / moved
    masses = _geometric(rate, math.ceil(40 / rate))
    exact = _product_delta(masses, moved, 1, share * epsilon)
    assert geometric_delta(epsilon, moved, share * epsilon) == pytest.approx(exact, abs=1e-9)


# --- what is drawn --------------------------------------------------------------------------------------------------

MODELS = [
    (GridGaussian(scale=1.5, step=0.5), _gaussian(3.0, 60)),
    (GridLaplace(scale=1.5, step=0.5), _laplace(1 / 3, 200)),
    (Geometric(scale=1.5, step=0.5), _geometric(1 / 3, 200)),
    (Geometric(scale=0.01, step=0.1), _geometric(10.0, 200)),
]


@pytest.mark.parametrize(("model", "masses"), MODELS, ids=lambda x: type(x).__name__)
def test_draws_have_the_enumerated_probabilities(model: GridNoise, masses: Masses) -> None:
    drawn = model.steps(SeededWords(np.random.default_rng(5)), 40_000)
    reach = len(masses) // 2
    wanted = np.flatnonzero(masses * drawn.size >= 5)
    counts = np.bincount(drawn + reach, minlength=len(masses))[wanted]
    rest = 1 - masses[wanted].sum()
    observed, expected = np.append(counts, drawn.size - counts.sum()), np.append(masses[wanted], rest) * drawn.size
    assert scipy.stats.chisquare(observed, expected * drawn.size / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize(("model", "masses"), MODELS, ids=lambda x: type(x).__name__)
def test_moments_and_tails_are_those_of_the_enumeration(model: GridNoise, masses: Masses) -> None:
    steps = np.arange(len(masses)) - len(masses) // 2
    assert model.std == pytest.approx(model.step * math.sqrt(float(masses @ steps**2)), rel=1e-6)
    for delta in (0.5, 0.1, 0.001):
        assert float(masses[np.abs(steps) * model.step > model.tail(delta)].sum()) <= delta * (1 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize("model", [GridLaplace(scale=4.0, step=1.0), Geometric(scale=4.0, step=1.0)])
def test_an_audit_finds_no_more_than_the_certificate_and_nearly_as_much(model: GridNoise) -> None:
    """The likeliest event for either of two scores: a lower limit on epsilon from 200 000 games each, at 99.99 %.

    Half the noise would show epsilon 2 where 1 is proved.
    """
    rng = np.random.default_rng(8)
    source = SeededWords(rng)
    here, there = (model.release(np.full(60_000, value), source) for value in (0.0, 4.0))
    first, second = int(np.count_nonzero(here <= 0)), int(np.count_nonzero(there <= 0))
    low = scipy.stats.beta.ppf(1e-4 / 2, first, 60_000 - first + 1)
    high = scipy.stats.beta.ppf(1 - 1e-4 / 2, second + 1, 60_000 - second)
    shown = math.log(low / high)
    assert 0.85 < shown <= model.epsilon_for(model.moved(Fraction(4))) == 1.0


@pytest.mark.parametrize("model", [GridLaplace, GridGaussian, Geometric])
@pytest.mark.parametrize("given", [{"scale": math.inf}, {"step": math.inf}, {"scale": math.nan}, {"step": 0.0}])
def test_noise_without_end_is_no_noise(model: type[GridNoise], given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(given))}' must be"):
        model(**given)


@pytest.mark.parametrize("noise", [Geometric, GridLaplace, GridGaussian])
def test_noise_of_more_steps_than_doubles_count_is_refused(noise: type[GridNoise]) -> None:
    with pytest.raises(ValueError, match=r"scale=1e\+15 must be at most 2\*\*52 steps of 1e-05"):
        noise(scale=1e15, step=1e-5)  # type: ignore[call-arg]  # of the subclasses
