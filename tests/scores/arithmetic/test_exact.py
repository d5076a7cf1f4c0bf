from __future__ import annotations

import math
import time
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr, mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_scores.arithmetic.exact import Exact, product

MPQ, MPFR = type(mpq()), type(mpfr())


def objects(values: list[object]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def test_floats_integers_and_fractions_become_rationals_without_rounding() -> None:
    values = Exact(bits=5).convert(objects([0.1, 3, Fraction(1, 3), mpq(2, 7), np.float32(0.1)]))

    assert all(isinstance(value, MPQ) for value in values)
    assert list(values) == [mpq(0.1), 3, mpq(1, 3), mpq(2, 7), mpq(float(np.float32(0.1)))]


def test_reals_are_rounded_to_the_precision() -> None:
    with gmpy2.context(precision=300):
        third = mpfr(1) / 3
    (value,) = Exact(bits=40).convert([third])

    assert isinstance(value, MPFR)
    assert value.precision == 40
    assert abs(value - mpq(1, 3)) <= mpq(1, 2**41)


def test_rationals_stay_exact_through_the_four_operations() -> None:
    numbers = Exact(bits=10)
    with numbers.context():
        values = numbers.convert(objects([mpq(1, 3), mpq(1, 7), mpq(10**30, 3)]))
        assert (1 - values)[0] == mpq(2, 3)
        assert numbers.total(values) == mpq(1, 3) + mpq(1, 7) + mpq(10**30, 3)
        assert numbers.mean(values) == (mpq(1, 3) + mpq(1, 7) + mpq(10**30, 3)) / 3


def true_log_total(values: list[object], bits: int) -> MPFR:
    """Reference: row by row, with far more bits."""
    with gmpy2.context(precision=2 * bits + 400):
        return sum((gmpy2.log(mpfr(value)) for value in values), start=mpfr(0))


rationals = st.fractions(Fraction(1, 10**6), 1).filter(bool).map(mpq)


@pytest.mark.long
@settings(max_examples=60)
@given(values=st.lists(rationals, min_size=1, max_size=40), bits=st.integers(10, 300))
def test_the_sum_of_logarithms_of_rationals_has_a_small_relative_error(values: list[MPQ], bits: int) -> None:
    found = Exact(bits=bits).total_log(objects(list(values)))

    with gmpy2.context(precision=2 * bits + 400):
        true = true_log_total(list(values), bits)
        assert abs(found - true) <= abs(true) * mpq(4, 2**bits)


@pytest.mark.long
@settings(max_examples=60)
@given(values=st.lists(rationals, min_size=1, max_size=40), bits=st.integers(10, 300), wide=st.booleans())
def test_the_sum_of_logarithms_of_reals_has_a_small_error(values: list[MPQ], bits: int, wide: bool) -> None:
    numbers = Exact(bits=bits)
    with gmpy2.context(precision=bits * (3 if wide else 1)):
        reals = [mpfr(value) for value in values]
    rounded = numbers.convert(objects([*reals, values[0]]))
    found = numbers.total_log(rounded)

    with gmpy2.context(precision=2 * bits + 400):
        true = true_log_total(list(rounded), bits)
        assert abs(found - true) <= max(1, abs(true)) * mpq(4, 2**bits)


def test_the_sum_of_logarithms_of_numbers_close_to_one_keeps_its_digits() -> None:
    tiny = mpq(1, 2**500)
    found = Exact(bits=60).total_log(objects([1 - tiny, mpq(1)]))

    assert abs(mpq(found) / -tiny - 1) < mpq(1, 2**58)
    assert Exact().total_log(objects([mpq(1), mpq(1)])) == 0


@pytest.mark.parametrize("zero", [mpq(0), mpfr(0)])
def test_a_probability_of_zero_costs_infinity(zero: object) -> None:
    assert Exact().total_log(objects([zero, mpq(1, 2)])) == -math.inf
    assert Exact().log(objects([zero]))[0] == -math.inf


def test_probabilities_far_below_every_float_are_held() -> None:
    numbers = Exact(bits=80)
    with numbers.context():
        tiny = numbers.exp(numbers.convert([-7 * 10**8]))
        assert 0 < tiny[0] < mpfr("1e-300000000")
        assert abs(numbers.total_log(np.concatenate([tiny] * 3)) + 21 * 10**8) < 1e-12


def test_answers_are_released_as_reals_of_the_precision() -> None:
    released = Exact(bits=90).release(mpq(1, 3))

    assert isinstance(released, MPFR)
    assert released.precision == 90


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 100])
def test_the_product_tree_multiplies_everything_once(count: int) -> None:
    assert product(list(range(1, count + 1))) == math.factorial(count)


def test_ten_thousand_primes_are_scored_in_well_under_a_second() -> None:
    primes = [gmpy2.mpz(2)]
    while len(primes) < 10_000:
        primes.append(gmpy2.next_prime(primes[-1]))
    probabilities = objects([mpq(p, 1 + p) for p in primes])
    started = time.process_time()
    found = Exact(bits=150_629).total_log(probabilities)

    assert time.process_time() - started < 0.9  # measured: 0.05 to 0.09 s
    assert abs(found - float(np.sum(np.log1p(-1 / (1 + np.array(primes, dtype=float)))))) < 1e-9
