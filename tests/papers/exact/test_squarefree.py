"""The closest squarefree number, and why it is not needed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_papers.decoders.squarefree import (
    closest_squarefree,
    closest_squarefree_printed,
    squarefree_numbers,
)
from labelinf_scores.constructions.primes import first_primes


def literal_printed(x: float, m: int) -> int:
    """Algorithm 1, line by line, with SqFree(m) by trial division."""
    primes = first_primes(m).tolist()
    if x <= 2 or m == 2:
        return 2
    if math.prod(primes) <= x:
        return math.prod(primes)
    for k in range(math.floor(x)):
        for number in (math.floor(x) - k, math.ceil(x) + k):
            if is_squarefree(number, primes):
                return number
    raise AssertionError


def is_squarefree(number: int, primes: list[int]) -> bool:
    for prime in primes:
        if number % prime == 0:
            number //= prime
    return number == 1


def test_the_numbers_are_all_products() -> None:
    assert squarefree_numbers(first_primes(3)) == [1, 2, 3, 5, 6, 10, 15, 30]
    assert squarefree_numbers(np.array([], dtype=np.int64)) == [1]


@pytest.mark.long
@settings(max_examples=150)
@given(st.floats(min_value=0.5, max_value=3000), st.integers(min_value=1, max_value=5))
def test_both_forms_agree_with_their_definitions(x: float, m: int) -> None:
    primes = first_primes(m)
    numbers = squarefree_numbers(primes)

    assert closest_squarefree_printed(x, primes) == literal_printed(x, m)
    assert abs(x - closest_squarefree(x, primes)) == min(abs(x - number) for number in numbers)


@pytest.mark.parametrize(
    ("x", "m", "printed", "closest"), [(1, 3, 2, 1), (6, 2, 2, 6), (2.97, 3, 2, 3), (12.6, 3, 10, 15)]
)
def test_the_printed_form_errs(x: float, m: int, printed: int, closest: int) -> None:
    primes = first_primes(m)

    assert (closest_squarefree_printed(x, primes), closest_squarefree(x, primes)) == (printed, closest)
