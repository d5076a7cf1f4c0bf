from __future__ import annotations

import functools
import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.small import BFLOAT16, FLOAT16

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=4000) * 10.0 ** RNG.uniform(-9, 6, size=4000)
EDGES = [65504.0, 65519.99, 65520.0, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0001, 6.1e-5, 6.0e-5, 0.0, -0.0, math.inf]
FLOATS = np.concatenate([WIDE, EDGES])


def bfloat16_by_bits(value: float) -> float:
    """Reference: round the upper half of an IEEE single, ties to even; exact for values that are singles."""
    single = np.float32(value)
    assert float(single) == value
    word = int(single.view(np.uint32))
    word += 0x7FFF + (word >> 16 & 1)
    return float(np.uint32(word & 0xFFFF0000).view(np.float32))


def floats(values: object) -> np.ndarray:
    return np.asarray(values, dtype=float)


def test_conversion_to_float16_is_numpys() -> None:
    with np.errstate(over="ignore"):
        expected = FLOATS.astype(np.float16).astype(float)

    assert np.array_equal(floats(FLOAT16.convert(FLOATS)), expected)


def test_what_is_said_many_times_is_rounded_like_what_is_said_once() -> None:
    """Arrays of repeated doubles are rounded value by value: shapes and signs of zero included."""
    values = np.array([[0.1, -0.0, 1.0], [0.1, 0.0, 65504.0], [1.0, -math.inf, 0.1]])
    for numbers in (FLOAT16, BFLOAT16):
        with numbers.context():
            expected = [gmpy2.mpfr(value) for value in values.ravel().tolist()]
        found = numbers.convert(values)
        assert found.shape == values.shape
        assert list(map(repr, found.ravel())) == list(map(repr, expected))
        with numbers.context():
            once = [gmpy2.log(value) for value in numbers.convert(FLOATS[FLOATS > 0])]
        assert floats(numbers.log(numbers.convert(FLOATS[FLOATS > 0]))).tolist() == floats(once).tolist()


@pytest.mark.parametrize("operation", [np.add, np.subtract, np.multiply, np.divide])
def test_every_operation_in_float16_is_numpys(operation: np.ufunc) -> None:
    with np.errstate(all="ignore"):
        left = (RNG.normal(size=3000) * 10.0 ** RNG.uniform(-6, 3, size=3000)).astype(np.float16)
        right = (RNG.normal(size=3000) * 10.0 ** RNG.uniform(-6, 3, size=3000)).astype(np.float16)
        expected = operation(left, right).astype(float)
    with FLOAT16.context():
        found = floats(operation(FLOAT16.convert(left), FLOAT16.convert(right)))

    assert np.array_equal(found, expected, equal_nan=True)


def test_logarithms_and_exponentials_in_float16_are_the_nearest() -> None:
    values = RNG.random(500).astype(np.float16)
    exact = np.log(values.astype(float)), np.exp(values.astype(float))

    # A double is close enough to the truth to round to the same half, save at a tie, which no value here meets.
    assert np.array_equal(floats(FLOAT16.log(FLOAT16.convert(values))), exact[0].astype(np.float16).astype(float))
    assert np.array_equal(floats(FLOAT16.exp(FLOAT16.convert(values))), exact[1].astype(np.float16).astype(float))


def test_conversion_to_bfloat16_is_the_upper_half_of_a_single() -> None:
    edges = np.array([3.3895314e38, 3.4e38, 1e-40, 9.2e-41, 4.6e-41, 4.5e-41, 1e-45, 0.0])
    singles = np.concatenate([WIDE * 1e-30, WIDE, edges]).astype(np.float32).astype(float)

    assert floats(BFLOAT16.convert(singles)).tolist() == [bfloat16_by_bits(value) for value in singles]


def test_operations_in_bfloat16_round_the_exact_result_once() -> None:
    left, right = floats(BFLOAT16.convert(RNG.random(1000))), floats(BFLOAT16.convert(RNG.random(1000) * 1e-3))
    with BFLOAT16.context():
        sums = floats(BFLOAT16.convert(left) + BFLOAT16.convert(right))
        products = floats(BFLOAT16.convert(left) * BFLOAT16.convert(right))

    for a, b, total, product in zip(left, right, sums, products, strict=True):
        for exact, found in ((Fraction(a) + Fraction(b), total), (Fraction(a) * Fraction(b), product)):
            ulp = Fraction(2) ** (math.frexp(found)[1] - 8)
            assert abs(exact - Fraction(found)) <= ulp / 2


def test_rationals_are_rounded_once() -> None:
    tie = Fraction(1) + Fraction(1, 2**11)
    values = [gmpy2.mpq(tie), gmpy2.mpq(tie + Fraction(1, 2**70))]

    assert floats(FLOAT16.convert(values)).tolist() == [1.0, 1.0 + 2.0**-10]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_sums_run_from_first_to_last(name: str) -> None:
    numbers = make_arithmetic(name)
    values = numbers.convert(RNG.random(200))

    with numbers.context():
        expected = functools.reduce(lambda total, value: total + value, values.tolist(), gmpy2.mpfr(0))
        assert numbers.total(values) == expected
        assert numbers.mean(values) == expected / 200
        assert numbers.summation == "sequential"


def test_a_sum_in_float16_is_numpys_cumulative_one() -> None:
    values = RNG.random(300).astype(np.float16)

    assert float(FLOAT16.total(FLOAT16.convert(values))) == float(np.cumsum(values)[-1])


def test_overflow_and_the_logarithm_of_zero_are_infinite() -> None:
    with FLOAT16.context():
        assert float(FLOAT16.convert([1e6])[0]) == math.inf
        assert float(FLOAT16.log(FLOAT16.convert([0.0]))[0]) == -math.inf
