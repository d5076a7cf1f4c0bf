"""S26, ICML 2021, Theorem 11: how many labels survive multiplicative noise (errata I-18 and I-19)."""

from __future__ import annotations

import itertools

import gmpy2
import pytest
from gmpy2 import mpfr, mpq

from labelinf_privacy.noise.multiplicative import (
    labels_per_query,
    labels_with_large_steps,
    printed_labels_per_query,
)


def scores(logs: list[mpfr], n_records: int) -> list[mpfr]:
    """Scores of all labellings of the rows with entries v = exp(log), the other rows at 1/2; ascending."""
    base = (n_records - len(logs)) * gmpy2.log(2) + sum(gmpy2.log1p(gmpy2.exp(log)) for log in logs)
    subsets = itertools.product((0, 1), repeat=len(logs))
    return sorted((base - sum(b * log for b, log in zip(bits, logs, strict=True))) / n_records for bits in subsets)


def survives(levels: list[mpfr], alpha: mpq) -> bool:
    """Whether the intervals ``(1 - alpha) l .. (1 + alpha) l`` are disjoint, so that a decoder exists."""
    return all((1 + alpha) * low < (1 - alpha) * high for low, high in itertools.pairwise(levels))


def printed_vector(m: int, n_records: int, alpha: mpq) -> list[mpfr]:
    """Logarithms of ``v_i = 3**(2**i N tau)`` with ``tau = 2 ln 2 alpha``."""
    tau = 2 * gmpy2.log(2) * alpha
    return [2**i * n_records * tau * gmpy2.log(3) for i in range(1, m + 1)]


@pytest.mark.parametrize("m", range(1, 9))
def test_floor_holds_up_to_the_largest_alpha(m: int) -> None:
    alpha = mpq(1, 2 ** (m + 2))
    assert labels_per_query(float(alpha)) == m
    with gmpy2.context(precision=300):
        for n_records in {m, m + 1, 10, 50, 1000} - set(range(m)):
            assert survives(scores(printed_vector(m, n_records, alpha), n_records), alpha)


def test_printed_form_fails_with_ceil() -> None:
    alpha, n_records = mpq(1249, 10000), 50
    assert printed_labels_per_query(0.1249) == 2
    assert labels_per_query(0.1249) == 1
    with gmpy2.context(precision=300):
        levels = scores(printed_vector(2, n_records, alpha), n_records)
        assert [round(float(level), 4) for level in levels] == [0.6654, 1.0459, 1.4263, 1.8068]
        assert (1 + alpha) * levels[2] > (1 - alpha) * levels[3]
        assert not survives(levels, alpha)
        assert survives(scores(printed_vector(1, n_records, alpha), n_records), alpha)


def test_a_large_alpha_is_no_barrier() -> None:
    # I-19: alpha = .9, five records, one row with v = e**600.
    with gmpy2.context(precision=1200):
        assert survives(scores([mpfr(600)], 5), mpq(9, 10))
    assert labels_with_large_steps(0.9) == 1


@pytest.mark.parametrize("alpha", [mpq(1, 8), mpq(1, 20), mpq(1, 5), mpq(1, 2), mpq(99, 100), mpq(1, 100)])
def test_equally_spaced_weights_carry_exactly_so_many_labels(alpha: mpq) -> None:
    m = labels_with_large_steps(float(alpha))
    with gmpy2.context(precision=20_000):
        assert survives(scores([mpfr(10_000) * 2**i for i in range(m)], 10), alpha)
        assert not survives(scores([mpfr(10_000) * 2**i for i in range(m + 1)], 10), alpha)


def test_the_worked_number() -> None:
    assert (labels_per_query(1 / 8), labels_with_large_steps(1 / 8)) == (1, 2)
    assert printed_labels_per_query(1 / 8) == 1


def test_alpha_out_of_range_is_named() -> None:
    with pytest.raises(ValueError, match=r"alpha=0\.2 must be in \(0, 1/8\]\."):
        labels_per_query(0.2)
    with pytest.raises(ValueError, match=r"alpha=1 must be in \(0, 1\)\."):
        labels_with_large_steps(1)
