"""S41, AISTATS 2022, Algorithm 1: the closest squarefree integer; errata A-7 (not needed) and A-8 (wrong)."""

from __future__ import annotations

import itertools
import math
import time

import gmpy2
import numpy as np
import pytest

from labelinf_papers.decoders.divisibility import divisors, exponents
from labelinf_papers.decoders.rounding import nearest_integer
from labelinf_papers.decoders.squarefree import closest_squarefree, closest_squarefree_printed
from labelinf_scores.constructions.primes import first_primes, prime_product

BITS = 200


def observed(labels: tuple[int, ...], noise: float) -> gmpy2.mpfr:
    """The answer in units of ``3 N P tau``: the logarithm of the product, and noise in units of tau."""
    primes = first_primes(len(labels))
    with gmpy2.context(precision=BITS):
        product = gmpy2.mpz(math.prod(int(p) ** label for p, label in zip(primes, labels, strict=True)))
        return gmpy2.log(gmpy2.mpfr(product)) + gmpy2.mpfr(noise) / (3 * prime_product(primes))


@pytest.mark.parametrize("n", range(1, 9))
def test_rounding_decodes_every_labelling_under_the_largest_noise(n: int) -> None:
    """A-7: ``abs(eta) <= tau``, and beyond it up to almost 3/2 tau."""
    primes = first_primes(n)
    for labels in itertools.product((0, 1), repeat=n):
        for noise in (-1.0, 0.0, 1.0, 1.33):
            integer = nearest_integer(observed(labels, noise), prime_product(primes), bits=BITS)
            assert exponents(integer, primes).tolist() == list(labels)


def test_the_answer_is_within_a_third_or_so_of_its_integer() -> None:
    """``P (exp(1 / (3 P)) - 1)`` is .3627 at P = 2 and falls to 1/3."""
    distances = [float(product * math.expm1(1 / (3 * product))) for product in (2, 6, 30, 210, 2310)]

    assert distances[0] == pytest.approx(0.3627, abs=1e-4)
    assert distances == sorted(distances, reverse=True)
    assert all(1 / 3 < distance < 1 / 2 for distance in distances)
    for product in (2, 6, 30, 210, 2310):
        answer = math.log(product) + 1 / (3 * product) * (1 - 1e-9)
        assert nearest_integer(answer, 2 * product, bits=80) == product


@pytest.mark.parametrize("n", range(1, 7))
def test_the_repaired_closest_squarefree_integer_decodes_too(n: int) -> None:
    primes = first_primes(n)
    for labels in itertools.product((0, 1), repeat=n):
        for noise in (-1.0, 1.0):
            x = gmpy2.exp(observed(labels, noise))
            assert exponents(closest_squarefree(x, primes), primes).tolist() == list(labels)


@pytest.mark.parametrize(
    ("x", "m", "printed", "true"),
    [(1.0, 3, 2, 1), (6.0, 2, 2, 6), (2.97, 3, 2, 3), (12.6, 3, 10, 15)],
)
def test_the_printed_algorithm_errs(x: float, m: int, printed: int, true: int) -> None:
    """A-8: it forgets 1, answers 2 for m = 2, and prefers the hit below to the closer one above."""
    primes = first_primes(m)

    assert closest_squarefree_printed(x, primes) == printed
    assert closest_squarefree(x, primes) == true


def test_the_printed_algorithm_errs_within_the_noise_it_is_meant_for() -> None:
    """A-8: 2.97 is reached from 3 by noise -tau at m = 3, since 3 exp(-1 / 90) = 2.967."""
    x = float(gmpy2.exp(observed((0, 1, 0), -1.0)))

    assert x == pytest.approx(2.967, abs=1e-3)
    assert closest_squarefree_printed(x, first_primes(3)) == 2


def test_decoding_two_thousand_labels_is_a_matter_of_a_second() -> None:
    """A-7: polynomial, where the paper expects a sub-exponential search."""
    primes = first_primes(2_000)
    labels = np.random.default_rng(0).random(2_000) < 0.5
    product, bits = prime_product(primes), int(prime_product(primes).bit_length()) + 64
    with gmpy2.context(precision=bits):
        logarithm = gmpy2.log(gmpy2.mpfr(prime_product(primes[labels]))) + 1 / gmpy2.mpfr(3 * product)

    start = time.process_time()
    found = divisors(nearest_integer(logarithm, product, bits=bits), primes)

    assert time.process_time() - start < 1
    assert np.array_equal(found, labels)
