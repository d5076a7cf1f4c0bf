"""From logarithms back to integers."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_papers.constructions.log_primes import separation
from labelinf_papers.decoders.divisibility import exponents
from labelinf_papers.decoders.nearest_divisor import nearest_divisor
from labelinf_papers.decoders.rounding import exponential, nearest_integer
from labelinf_scores.constructions.primes import first_primes, prime_product, rounding_margin


def spelled(labels: list[int]) -> int:
    primes = first_primes(len(labels)).tolist()
    return int(np.prod([prime**label for prime, label in zip(primes, labels, strict=True)], dtype=object))


labellings = st.lists(st.integers(0, 1), min_size=1, max_size=12)
share = st.floats(min_value=-0.999999, max_value=0.999999)


@pytest.mark.long
@settings(max_examples=100)
@given(labellings, share)
def test_rounding_survives_its_margin(labels: list[int], noise: float) -> None:
    primes = first_primes(len(labels))
    largest = prime_product(primes)
    logarithm = gmpy2.log(gmpy2.mpfr(spelled(labels), 200)) + noise * rounding_margin(largest)

    integer = nearest_integer(logarithm, largest, bits=200)

    assert integer == spelled(labels)
    assert exponents(integer, primes).tolist() == labels


@pytest.mark.long
@settings(max_examples=100)
@given(labellings, share)
def test_the_nearest_divisor_survives_half_the_separation(labels: list[int], noise: float) -> None:
    primes = first_primes(len(labels))
    logarithm = gmpy2.log(gmpy2.mpfr(spelled(labels), 200)) + noise * separation(primes) / 2

    assert nearest_divisor(logarithm, primes).tolist() == labels


@settings(max_examples=50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), share)
def test_the_nearest_divisor_knows_powers(labels: list[int], noise: float) -> None:
    primes = first_primes(len(labels))
    logarithm = gmpy2.log(gmpy2.mpfr(spelled(labels), 200)) + noise * separation(primes, 3) / 2

    assert nearest_divisor(logarithm, primes, largest=3).tolist() == labels


@pytest.mark.parametrize(("logarithm", "integer"), [(-5.0, 1), (0.0, 1), (1e300, 30), (3.5, 30)])
def test_what_noise_drives_out_of_range_is_brought_back(logarithm: float, integer: int) -> None:
    assert nearest_integer(logarithm, 30, bits=64) == integer
    assert 1 <= exponential(logarithm, 30, bits=64) <= 30
