"""S6, ICML 2021, Theorem 1: distinct primes in one exact query."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import gmpy2
import numpy as np
import pytest

from labelinf_papers.attacks.prime_powers import classes_of_score
from labelinf_papers.decoders.divisibility import divisors
from labelinf_papers.decoders.rounding import spelled_integer
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, needed_bits, prime_predictions
from labelinf_scores.metrics.log_loss import LogLoss

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


@pytest.mark.parametrize("n", range(1, 11))
def test_every_labelling_is_the_divisors_of_one_integer(n: int) -> None:
    primes = first_primes(n)
    bits, predictions = needed_bits(primes), prime_predictions(primes)
    numbers = make_arithmetic("exact").at_precision(bits)

    for sigma in itertools.product((0, 1), repeat=n):
        with numbers.context():
            score = LogLoss().score(np.array(sigma), predictions, numbers)
        found = classes_of_score(score, primes, 2, bits=bits)

        assert found is not None
        assert found.tolist() == list(sigma)


@pytest.mark.parametrize("n", range(1, 7))
def test_the_identity_is_exact_in_rationals(n: int) -> None:
    """T times the product of the predicted probabilities is the product of the primes with label 1."""
    primes = first_primes(n).tolist()
    total = math.prod(prime + 1 for prime in primes)

    for sigma in itertools.product((0, 1), repeat=n):
        likelihood = gmpy2.mpq(1)
        for prime, label in zip(primes, sigma, strict=True):
            likelihood *= gmpy2.mpq(prime if label else 1, prime + 1)

        assert total * likelihood == math.prod(p for p, label in zip(primes, sigma, strict=True) if label)


def test_the_worked_example() -> None:
    example = VECTORS["ex_thm1"]
    primes, sigma = np.array(example["v"]), np.array(example["sigma"])
    numbers = make_arithmetic("exact").at_precision(60)
    with numbers.context():
        score = LogLoss().score(sigma, prime_predictions(primes), numbers)

    assert math.prod(int(prime) + 1 for prime in primes) == example["T"] == 6912
    assert float(score) == pytest.approx(example["loss"], abs=1e-15)
    assert spelled_integer(score, 5, 6912, bits=60) == example["X"] == 165
    assert divisors(165, primes).astype(int).tolist() == example["sigma"]
