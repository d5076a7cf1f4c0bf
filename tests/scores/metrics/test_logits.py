from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss

DOUBLES = make_arithmetic("float64")


def reference(row: list[float]) -> list[float]:
    """The definition itself, in 4000 bits."""
    with gmpy2.context(precision=4000):
        total = gmpy2.log(sum(gmpy2.exp(gmpy2.mpfr(z)) for z in row))
        return [float(total - z) for z in row]


@pytest.mark.long
@settings(max_examples=150)
@given(row=st.lists(st.floats(-800, 800), min_size=2, max_size=6))
def test_softmax_costs_have_a_small_relative_error(row: list[float]) -> None:
    # The difference of two logits is known to half a unit in its last place, up to 1.1e-13, which exp makes relative.
    with DOUBLES.context():
        found = SoftmaxLogLoss().costs(np.array([row]), DOUBLES)[0]

    assert np.allclose(found, reference(row), rtol=4e-13, atol=1e-300)


@settings(max_examples=100)
@given(z=st.floats(-700, 700))
def test_sigmoid_costs_have_a_small_relative_error(z: float) -> None:
    with DOUBLES.context():
        found = SigmoidLogLoss().costs(np.array([z]), DOUBLES)[0]

    assert np.allclose(found, reference([0.0, z]), rtol=4e-13, atol=1e-300)


def test_logits_of_probabilities_cost_what_the_probabilities_cost() -> None:
    u = np.random.default_rng(0).dirichlet(np.ones(4), size=30)

    assert np.allclose(SoftmaxLogLoss().costs(np.log(u) + 5.0, DOUBLES), LogLoss().costs(u, DOUBLES))


@pytest.mark.parametrize("name", ["float64", "exact"])
def test_logits_reach_gaps_that_no_probability_can_hold(name: str) -> None:
    numbers = make_arithmetic(name)
    steps = np.array([2.0**40, -3.0])
    with numbers.context():
        rows = SoftmaxLogLoss().rows(steps, 3, numbers)
        costs = SoftmaxLogLoss().costs(rows, numbers)
        found = np.asarray(costs - costs[:, :1], dtype=float)

    assert found[0].tolist() == [0, 2.0**40, 2.0**41]
    assert np.allclose(found[1], [0, -3, -6])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_logit_must_be_finite(bad: float) -> None:
    assert SigmoidLogLoss().fault(np.array([0.0, bad]), 2, 2) == f"prediction {bad} in row 1 must be a finite logit."
    assert SoftmaxLogLoss().fault(np.array([[0.0, 1e308], [-5.0, 0.0]]), 2, 2) == ""
    assert SigmoidLogLoss().fault(np.array([gmpy2.mpq(10**400), -5], dtype=object), 2, 2) == ""
