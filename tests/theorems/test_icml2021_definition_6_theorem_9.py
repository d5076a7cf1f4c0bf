"""S23, ICML 2021, Definition 6 and Theorem 9: to survive noise of any distribution, survive its central quantiles.

Erratum I-16: the proof gives the central interval a probability of ``delta/2``; it has ``1 - delta/2``.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_privacy.noise.quantiles import central_bound, robustness_needed

Atoms = list[tuple[Fraction, Fraction]]


@st.composite
def distributions(draw: st.DrawFn) -> Atoms:
    """A finite distribution: values and exact probabilities, ascending."""
    values = sorted(draw(st.sets(st.integers(-50, 50), min_size=1, max_size=8)))
    weights = [draw(st.integers(1, 20)) for _ in values]
    return [(Fraction(v, 10), Fraction(w, sum(weights))) for v, w in zip(values, weights, strict=True)]


def quantile(atoms: Atoms, level: Fraction) -> Fraction:
    """``inf {x : F(x) >= level}``."""
    below = Fraction(0)
    for value, weight in atoms:
        below += weight
        if below >= level:
            return value
    return atoms[-1][0]


def within(atoms: Atoms, tau: Fraction) -> Fraction:
    return sum((weight for value, weight in atoms if abs(value) <= tau), Fraction(0))


@settings(max_examples=60)
@given(distributions(), st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_noise_stays_within_the_quantiles_with_probability_one_minus_half_delta(atoms: Atoms, delta: Fraction) -> None:
    tau = robustness_needed(lambda level: quantile(atoms, level), delta)
    assert within(atoms, tau) >= 1 - delta / 2


@settings(max_examples=60)
@given(distributions(), st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_quantiles_at_half_delta_are_enough(atoms: Atoms, delta: Fraction) -> None:
    tau = central_bound(lambda level: quantile(atoms, level), delta)
    assert within(atoms, tau) >= 1 - delta


@settings(max_examples=50)
@given(distributions(), st.fractions(Fraction(1, 20), Fraction(1, 2)))
def test_a_vector_robust_to_tau_is_decoded_with_probability_one_minus_delta(atoms: Atoms, delta: Fraction) -> None:
    tau = robustness_needed(lambda level: quantile(atoms, level), delta)
    gaps = [(2 * tau + 1) * 2**i for i in range(3)]  # sums that are more than 2 tau apart
    sums = {labels: sum(g * s for g, s in zip(gaps, labels, strict=True)) for labels in _labellings()}
    for labels in _labellings():
        decoded = Fraction(0)
        for value, weight in atoms:
            seen = sums[labels] + value
            nearest = min(_labellings(), key=lambda other: abs(sums[other] - seen))
            decoded += weight if nearest == labels else 0
        assert decoded >= 1 - delta


def test_the_worked_number() -> None:
    assert robustness_needed(NormalDist().inv_cdf, 0.1) == pytest.approx(1.959964, abs=1e-6)


def _labellings() -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=3))
