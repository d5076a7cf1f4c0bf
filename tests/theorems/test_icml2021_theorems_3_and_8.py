"""S9, ICML 2021, Theorems 3 and 8 in exact arithmetic: the exponent of the i-th prime is the class of record i."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelinf_papers.attacks.prime_powers import classes_of_score
from labelinf_papers.constructions.prime_powers import all_classes, power_rows
from labelinf_papers.decoders.rounding import spelled_integer
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.primes import first_primes, needed_bits
from labelinf_scores.metrics.log_loss import LogLoss


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_labelling_is_the_exponents_of_one_integer(n: int, n_classes: int) -> None:
    primes = first_primes(n)
    rows, bits = power_rows(primes, all_classes(n_classes)), needed_bits(primes, n_classes - 1)
    numbers = make_arithmetic("exact").at_precision(bits)

    for sigma in itertools.product(range(n_classes), repeat=n):
        with numbers.context():
            score = LogLoss().score(np.array(sigma), rows, numbers)
        found = classes_of_score(score, primes, n_classes, bits=bits)

        assert found is not None
        assert found.tolist() == list(sigma)


def test_the_worked_example() -> None:
    """K = 3, primes (2, 3), the paper's classes (3, 2): X = 2**2 * 3 = 12."""
    primes = first_primes(2)
    numbers = make_arithmetic("exact").at_precision(60)
    with numbers.context():
        score = LogLoss().score(np.array([2, 1]), power_rows(primes, all_classes(3)), numbers)

    assert spelled_integer(score, 2, 7 * 13, bits=60) == 12
