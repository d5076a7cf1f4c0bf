"""S12, ICML 2021, Lemma 1: the separation of a vector is mu(ln v) / N, over distinct labellings."""

from __future__ import annotations

import itertools
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_papers.set_valued import every_value, separation
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("exact").at_precision(300)


def scores_of(v: list[mpq]) -> list[gmpy2.mpfr]:
    u = np.array([x / (1 + x) for x in v], dtype=object)
    labellings = itertools.product((0, 1), repeat=len(v))
    return [LogLoss().score(np.array(labels), u, NUMBERS) for labels in labellings]


def least_subset_difference(exponents: list[int]) -> int:
    return int(separation(every_value(lambda s: sum(e for i, e in enumerate(exponents) if s >> i & 1), len(exponents))))


@pytest.mark.parametrize("exponents", [[1], [1, 2], [3, 5, 6, 7], [-1, 2, -4, 8], [1, 3], [6, 9, 11, 12, 13]], ids=str)
def test_the_separation_is_the_least_difference_of_subset_sums_over_n(exponents: list[int]) -> None:
    """With v_i = 2**a_i the right-hand side is an integer times ln 2 / N."""
    v = [mpq(2) ** e for e in exponents]
    with gmpy2.context(precision=320):
        expected = least_subset_difference(exponents) * gmpy2.log(mpq(2)) / len(v)
        assert abs(separation(scores_of(v)) - expected) < 1e-60


def test_repeated_entries_are_counted_as_often_as_they_occur() -> None:
    assert least_subset_difference([5, 5]) == 0
    with gmpy2.context(precision=320):
        assert abs(separation(scores_of([mpq(32), mpq(32)]))) < 1e-60


def test_over_all_pairs_both_sides_would_be_zero() -> None:
    """Erratum I-3: the printed minimum includes a labelling and itself."""
    scores = [Fraction(0), Fraction(1), Fraction(2), Fraction(3)]
    assert min(abs(a - b) for a, b in itertools.product(scores, repeat=2)) == 0
    assert separation(scores) == 1
