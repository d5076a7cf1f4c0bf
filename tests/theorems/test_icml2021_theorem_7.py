"""S18, ICML 2021, Theorem 7: phi >= 8 + ceil(N tau ln 2). False (errata I-13, I-14, I-15)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import largest_loss, power_gaps, printed_labels_per_query
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


@pytest.mark.parametrize("n_records", [2, 10, 100, 1000])
@pytest.mark.parametrize("tau", [0.01, 0.1, 1.0])
def test_twice_the_noise_term_leaves_at_least_one(n_records: int, tau: float) -> None:
    phi = math.ceil(8 + 2 * n_records * tau * math.log(2))
    assert affordable(phi, n_records, tau) >= 1


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
