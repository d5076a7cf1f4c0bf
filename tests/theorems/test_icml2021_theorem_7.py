"""S18, ICML 2021, Theorem 7: phi >= 8 + ceil(N tau ln 2). False (errata I-13, I-14, I-15)."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.arithmetic.fixed import Fixed
from labelinf_scores.constructions.powers import largest_loss, power_gaps, printed_labels_per_query, sufficient_bits
from labelinf_scores.metrics.log_loss import LogLoss


def affordable(phi: int, n_records: int, tau: float) -> int:
    """The proof's m: the largest with ``2**m N tau ln 2 + 8 <= phi``."""
    return math.floor(math.log2((phi - 8) / (n_records * tau * math.log(2))))


def test_the_printed_precision_leaves_no_label_a_query() -> None:
    """I-14: N = 10, tau = 1. The proof's floor gives m = 0; only the ceil of Algorithm 3 hides it."""
    phi = 8 + math.ceil(10 * 1 * math.log(2))
    assert phi == 15
    assert affordable(phi, 10, 1.0) == 0
    assert printed_labels_per_query(phi, n_records=10, tau=1.0) == 1


def rounded_query(phi: int, m: int, n_records: int, tau: Fraction) -> NDArray[Any]:
    """Return Algorithm 3's query about the first m records in base 3, as FPA(phi) holds it."""
    wide = make_arithmetic("exact").at_precision(4 * phi + 200)
    with wide.context():
        gaps = [2**i * n_records * gmpy2.mpq(tau) * gmpy2.log(3) for i in range(1, m + 1)]
        rows = [1 / (1 + gmpy2.exp(gap)) for gap in gaps] + [gmpy2.mpq(1, 2)] * (n_records - m)
    return Fixed.of_bits(phi).convert(rows)


def separates(phi: int, m: int, n_records: int, tau: Fraction) -> bool:
    """Whether every labelling of the block is read off its released score, under noise of up to tau at its worst."""
    numbers = Fixed.of_bits(phi)
    query = rounded_query(phi, m, n_records, tau)
    if 0 in query:
        return False
    rest = (0,) * (n_records - m)
    scores = sorted(LogLoss().score(np.array(x + rest), query, numbers) for x in itertools.product((0, 1), repeat=m))
    with numbers.context():
        highest, lowest = [[numbers.release(score + sign * gmpy2.mpq(tau)) for score in scores] for sign in (1, -1)]
    return all(one < other for one, other in zip(highest, lowest[1:], strict=False))


def test_twice_the_noise_term_is_not_enough() -> None:
    """N = 10, tau = 1, phi = 23: ``1 / (1 + 9**10)`` is no multiple of ``2**-11`` but 0."""
    phi = 23
    assert phi >= 8 + 2 * 10 * 1 * math.log(2)
    assert rounded_query(phi, 1, 10, Fraction(1))[0] == 0
    assert not separates(phi, 1, 10, Fraction(1))


CASES = [
    (n, m, tau)
    for n in (1, 2, 3, 5, 10)
    for m in range(1, min(n, 4) + 1)
    for tau in (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3))
    if 2**m * n * tau <= 100
]


@pytest.mark.parametrize(("n_records", "m", "tau"), CASES)
def test_the_repaired_precision_tells_all_labellings_apart(n_records: int, m: int, tau: Fraction) -> None:
    phi = sufficient_bits(m, n_records=n_records, tau=float(tau))
    assert separates(phi, m, n_records, tau)
    assert separates(phi + 2, m, n_records, tau)


@pytest.mark.parametrize(("n_records", "m"), [(10, 1), (5, 2), (4, 3)])
def test_the_repaired_precision_is_within_a_dozen_bits_of_the_least(n_records: int, m: int) -> None:
    phi = sufficient_bits(m, n_records=n_records, tau=1.0)
    assert not separates(phi - 14, m, n_records, Fraction(1))


def test_the_maximum_loss_is_more_than_the_proof_has() -> None:
    """I-15: N = 100, tau = .03, m = 1; the proof wants N tau > ln 16, which 3 is, and more."""
    n_records, tau, m = 100, 0.03, 1
    of_the_proof = (99 * math.log(2) + math.log1p(3 * math.exp(2 * n_records * tau))) / n_records
    assert n_records * tau > math.log(16)
    assert of_the_proof == pytest.approx(0.757, abs=5e-4)
    assert largest_loss(m, n_records=n_records, tau=tau, base=3.0) == pytest.approx(0.752, abs=5e-4)
    assert 2 ** (m + 1) * tau == pytest.approx(0.12)


def test_the_bound_of_the_appendix_fails_too() -> None:
    """I-15: ln 2 + 2**(m+1) tau, at N = m = 4, tau = 1."""
    largest = largest_loss(4, n_records=4, tau=1.0, base=3.0)
    assert largest == pytest.approx(32.96, abs=5e-3)
    assert math.log(2) + 2**5 == pytest.approx(32.69, abs=5e-3)
    assert largest > math.log(2) + 2**5


@pytest.mark.parametrize("n", range(1, 7))
def test_the_largest_loss_is_that_of_the_worst_labelling(n: int) -> None:
    numbers = make_arithmetic("exact").at_precision(200)
    for m in range(1, n + 1):
        gaps = np.concatenate([power_gaps(m, n_records=n, tau=0.05, base=3.0), np.zeros(n - m)])
        with numbers.context():
            u = LogLoss().prediction(numbers.convert(gaps), numbers)
            scores = [LogLoss().score(np.array(x), u, numbers) for x in itertools.product((0, 1), repeat=n)]
        assert float(max(scores)) == pytest.approx(largest_loss(m, n_records=n, tau=0.05, base=3.0), rel=1e-12)


@pytest.mark.parametrize("base", [math.e, 3.0])
def test_the_repaired_bound_holds_and_is_tight_for_small_noise(base: float) -> None:
    for n_records, tau, m in itertools.product((4, 100, 1000), (1e-6, 0.03, 1.0), range(1, 5)):
        bound = math.log(2) + math.log(base) * (2 ** (m + 1) - 2) * tau
        assert largest_loss(m, n_records=n_records, tau=tau, base=base) <= bound
    assert largest_loss(1, n_records=4, tau=1e-9, base=base) == pytest.approx(math.log(2), abs=1e-8)
