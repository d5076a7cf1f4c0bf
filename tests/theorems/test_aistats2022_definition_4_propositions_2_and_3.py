"""S47, AISTATS 2022, Definition 4, Propositions 2 and 3: separation in finite precision. Errata A-15 and A-16."""

from __future__ import annotations

import itertools
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.errors import InputError
from labelinf_papers.set_valued import separation
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.fixed import Fixed
from labelinf_scores.metrics.log_loss import LogLoss


def rounded(phi: int, values: list[mpq]) -> list[mpq]:
    return [mpq(Fixed.of_bits(phi).release(value)) for value in values]


@pytest.mark.long
@settings(max_examples=60)
@given(
    values=st.lists(st.fractions(Fraction(-1), Fraction(1)), min_size=2, max_size=12),
    phi=st.integers(2, 20).map(lambda f: 2 * f + 1),
)
def test_rounding_changes_the_separation_by_at_most_twice_its_error(values: list[Fraction], phi: int) -> None:
    exact = [mpq(value) for value in values]

    difference = abs(separation(rounded(phi, exact)) - separation(exact))
    assert difference <= Fixed.of_bits(phi).step


@pytest.mark.parametrize("phi", [9, 17, 33])
def test_a_design_separated_by_tau_and_twice_the_error_stays_separated_in_fpa(phi: int) -> None:
    """Proposition 3, corrected, for a curator: all labellings of three records, predictions on the grid."""
    numbers = Fixed.of_bits(phi)
    theta = numbers.convert([mpq(1, 4), mpq(1, 8), mpq(1, 16)])
    labellings = [np.array(labels) for labels in itertools.product((0, 1), repeat=3)]
    exact = [mpq(LogLoss().score(labels, theta, make_arithmetic("exact"))) for labels in labellings]
    answers = [mpq(numbers.release(LogLoss().score(labels, theta, numbers))) for labels in labellings]

    tau = separation(exact) - numbers.step
    assert tau > 0
    assert separation(answers) >= tau


def test_erratum_a15_separation_in_fpa_says_nothing_about_separation() -> None:
    """As printed: f = {.49, .51} is {0, 1} to a resolution of 1, though its true gap is .02."""
    values = [mpq(49, 100), mpq(51, 100)]

    assert separation([mpq(round(value)) for value in values]) == 1
    assert separation(values) == mpq(2, 100)


def test_erratum_a15_more_bits_may_separate_less() -> None:
    """The same, halved, in FPA(3) with step 1/2 and FPA(7) with step 1/8: separation 1/2, then 0."""
    values = [mpq(245, 1000), mpq(255, 1000)]

    assert [separation(rounded(phi, values)) for phi in (3, 7)] == [mpq(1, 2), 0]
    assert separation(values) == mpq(1, 100)


def bits_of_proposition_3(tau: float) -> float:
    with gmpy2.context(precision=100):
        return float(max(2 * gmpy2.log2(tau) + 5, -2 * gmpy2.log2(tau) - 1))


def test_erratum_a16_the_bits_of_proposition_3_do_not_suffice() -> None:
    """tau = 1.1 asks for 5.28 bits; in FPA(7) the values .07 and 1.17 become .125 and 1.125."""
    values = [mpq(7, 100), mpq(117, 100)]

    assert 7 > bits_of_proposition_3(1.1) == pytest.approx(5.28, abs=0.01)
    assert separation(values) == mpq(11, 10)
    assert rounded(7, values) == [mpq(1, 8), mpq(9, 8)]
    assert separation(rounded(7, values)) == 1 < mpq(11, 10)
    assert separation(rounded(7, values)) >= separation(values) - Fixed.of_bits(7).step


def test_erratum_a16_values_may_be_out_of_range() -> None:
    """tau = 1 asks for 5 bits; FPA(5) holds nothing from 4 upward, f = {100, 101} is separated by 1."""
    assert bits_of_proposition_3(1.0) == 5
    with pytest.raises(InputError, match=r"fpa:5 holds numbers between -2\*\*2 and 2\*\*2, got 100"):
        rounded(5, [mpq(100), mpq(101)])
