"""Primes, their predictions and the precision they need."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import gmpy2
import numpy as np
import pytest

from labelinf_papers.constructions.log_primes import closest_ratio, separation, separation_floor, small_scale
from labelinf_papers.constructions.prime_powers import all_classes, class_block, power_rows
from labelinf_scores.constructions.primes import (
    first_primes,
    needed_bits,
    prime_predictions,
    prime_product,
    primes_up_to,
    printed_block_size,
    rounding_margin,
)

VECTORS = json.loads((Path(__file__).parents[2] / "theorems" / "vectors.json").read_text())


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def test_the_sieve_agrees_with_trial_division() -> None:
    assert primes_up_to(3000).tolist() == [number for number in range(3001) if is_prime(number)]
    for count in (0, 1, 2, 5, 6, 7, 100, 430):
        assert first_primes(count).tolist() == primes_up_to(3000)[:count].tolist()


@pytest.mark.parametrize(("count", "last"), [(1_000, 7_919), (10_000, 104_729), (100_000, 1_299_709)])
def test_known_primes_are_reached(count: int, last: int) -> None:
    primes = first_primes(count)

    assert (len(primes), primes[-1]) == (count, last)


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "product_bits", "bits"),
    [(5, 12, 21), (1_000, 11_271, 11_289), (10_000, 150_607, 150_629), (100_000, 1_873_303, 1_873_329)],
)
def test_the_precision_is_that_of_the_proof(count: int, product_bits: int, bits: int) -> None:
    primes = first_primes(count)

    assert prime_product(primes).bit_length() == product_bits
    assert needed_bits(primes) == bits


def test_five_primes_need_what_the_vectors_say() -> None:
    assert needed_bits(first_primes(5)) == VECTORS["prec_bits_primes"]["5"]["w"]
    assert prime_product(first_primes(5)).bit_length() == VECTORS["prec_bits_primes"]["5"]["bitlenP"]


def test_predictions_are_exact_rationals() -> None:
    assert prime_predictions(first_primes(3)).tolist() == [gmpy2.mpq(2, 3), gmpy2.mpq(3, 4), gmpy2.mpq(5, 6)]


@pytest.mark.parametrize(("phi", "size"), [(9, 1), (33, 31), (34, 36), (53, 564)])
def test_the_printed_size_is_reproduced(phi: int, size: int) -> None:
    assert printed_block_size(phi, most=1000) == size
    assert printed_block_size(phi, most=7) == min(size, 7)


def test_the_rounding_margin_vanishes_only_where_a_double_does() -> None:
    assert rounding_margin(2310) == pytest.approx(math.log(1 + 1 / 4620), rel=1e-12)
    assert 0 < rounding_margin(10**300) < 1e-300
    assert rounding_margin(10**400) == 0


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_rows_sum_to_one_and_rise_by_the_prime(n_classes: int) -> None:
    rows = power_rows(first_primes(4), all_classes(n_classes))

    assert [sum(row) for row in rows] == [1] * 4
    assert [[row[k + 1] / row[k] for k in range(n_classes - 1)] for row in rows] == [
        [prime] * (n_classes - 1) for prime in (2, 3, 5, 7)
    ]


def test_two_classes_are_theorem_one() -> None:
    primes = first_primes(6)

    assert power_rows(primes, class_block(2, first=1, count=1))[:, 1].tolist() == prime_predictions(primes).tolist()


def test_blocks_of_classes_cover_every_class_once() -> None:
    n_classes, count = 8, 3
    claimed = np.array([class_block(n_classes, first=first, count=count) for first in range(1, n_classes, count)])

    assert (claimed > 0).sum(axis=0).tolist() == [0] + [1] * 7
    assert claimed.max() == count


def test_the_separation_is_that_of_all_pairs_of_labellings() -> None:
    for n in range(1, 6):
        primes = first_primes(n)
        products = [Fraction(1)]
        for prime in primes.tolist():
            products += [prime * product for product in products]
        nearest = min(a / b for a in products for b in products if a > b)

        assert closest_ratio(primes) == gmpy2.mpq(nearest.numerator, nearest.denominator)
        assert separation(primes) == pytest.approx(math.log(nearest), rel=1e-12)


@pytest.mark.parametrize(("n", "exponent"), [(5, 1), (12, 1), (4, 2), (3, 5), (7, 3)])
def test_the_listed_separation_is_a_tight_lower_bound(n: int, exponent: int) -> None:
    primes = first_primes(n)
    with gmpy2.context(precision=200):
        exact = gmpy2.log(gmpy2.mpfr(closest_ratio(primes, exponent)))

    assert float(exact) * (1 - 1e-8) <= separation(primes, exponent) <= exact
    assert separation_floor(primes, exponent) <= exact


def test_the_separation_of_many_primes_falls_back_to_its_closed_form() -> None:
    primes = first_primes(30)

    assert separation(primes) == separation_floor(primes)
    assert small_scale(primes) == pytest.approx(2 / separation_floor(primes), rel=1e-12)
    assert small_scale(primes) == pytest.approx(2 * math.sqrt(int(prime_product(primes)) + 0.25), rel=1e-12)
