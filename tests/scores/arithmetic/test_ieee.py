from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from labelinf_scores.arithmetic import make_arithmetic


@pytest.mark.parametrize("name", ["float64", "float32"])
@pytest.mark.parametrize("size", [1, 7, 8, 127, 129, 1000, 4097])
def test_sums_are_numpys_own(name: str, size: int) -> None:
    numbers = make_arithmetic(name)
    values = numbers.convert(np.random.default_rng(size).random(size))

    assert values.dtype == name
    assert numbers.total(values) == np.sum(values)
    assert numbers.mean(values) == np.average(values)
    assert numbers.total_log(values) == np.sum(numbers.log(values))


@pytest.mark.parametrize("name", ["float64", "float32"])
def test_logarithms_are_correct_to_one_unit_in_the_last_place(name: str) -> None:
    numbers = make_arithmetic(name)
    values = numbers.convert(np.random.default_rng(0).random(500))

    for value, log in zip(values, numbers.log(values), strict=True):
        with gmpy2.context(precision=200):
            true = gmpy2.log(gmpy2.mpfr(float(value)))
            assert abs(float(log) - true) <= float(np.spacing(abs(log)))


def test_the_logarithm_of_zero_is_infinite_and_warns_nobody() -> None:
    numbers = make_arithmetic("float64")
    with numbers.context():
        assert numbers.log(numbers.convert([0.0]))[0] == -math.inf
        assert numbers.exp(numbers.convert([1000.0]))[0] == math.inf


def test_rationals_are_rounded_once_to_the_nearest_single() -> None:
    halfway = Fraction(1) + Fraction(1, 2**24)  # between 1 and the next single: ties to even
    above = halfway + Fraction(1, 2**60)  # its nearest double *is* the tie, so rounding twice would give 1
    rounded = make_arithmetic("float32").convert(
        np.array([gmpy2.mpq(halfway), gmpy2.mpq(above), gmpy2.mpq(1, 3)], dtype=object)
    )

    assert rounded.dtype == np.float32
    assert rounded.tolist() == [1.0, 1.0 + 2.0**-23, float(np.float32(1 / 3))]


def test_rationals_are_rounded_to_the_nearest_double() -> None:
    rng = np.random.default_rng(1)
    fractions = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 2**62, size=(300, 2))]
    rounded = make_arithmetic("float64").convert(np.array([gmpy2.mpq(f) for f in fractions], dtype=object))

    assert rounded.tolist() == [float(f) for f in fractions]


def test_what_is_released_is_a_plain_float() -> None:
    numbers = make_arithmetic("float32")

    assert type(numbers.release(numbers.mean(numbers.convert([0.1, 0.2])))) is float
