"""The remainder tree agrees with dividing by one modulus after the other."""

from __future__ import annotations

import gmpy2
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_papers.decoders.divisibility import divisors, exponents, product_tree, remainders
from labelinf_scores.constructions.primes import first_primes

positive = st.integers(min_value=1, max_value=10**6)


@settings(max_examples=60)
@given(st.integers(min_value=0, max_value=10**80), st.lists(positive, max_size=150))
def test_remainders_are_those_of_single_divisions(number: int, moduli: list[int]) -> None:
    assert remainders(number, moduli) == [number % modulus for modulus in moduli]


@settings(max_examples=60)
@given(st.lists(st.integers(min_value=0, max_value=4), min_size=1, max_size=80), st.integers(min_value=1, max_value=4))
def test_exponents_round_trip(truth: list[int], largest: int) -> None:
    primes = first_primes(len(truth))
    number = gmpy2.mpz(1)
    for prime, exponent in zip(primes.tolist(), truth, strict=True):
        number *= gmpy2.mpz(prime) ** exponent

    found = exponents(number, primes, largest=largest)

    assert found.tolist() == [min(exponent, largest) for exponent in truth]


def test_zero_is_divided_by_every_power() -> None:
    assert exponents(0, first_primes(5), largest=3).tolist() == [3] * 5


def test_a_tree_of_one_modulus_is_its_root() -> None:
    assert product_tree([7]) == [[7]]
    assert divisors(15, np.array([5])).tolist() == [True]
    assert remainders(15, []) == []


def test_every_level_of_the_tree_has_the_same_product() -> None:
    levels = product_tree(list(range(1, 12)))

    assert {int(gmpy2.mpz(np.prod(np.array(level, dtype=object)))) for level in levels} == {39916800}
