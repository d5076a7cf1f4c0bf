"""S1, ICML 2021, Definition 1: the K-ary log-loss. Erratum I-1: it is every row of u that sums to one."""

from __future__ import annotations

import itertools

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss

PRINTED = [[mpq(9, 10), mpq(1, 10)], [mpq(8, 10), mpq(2, 10)]]


def matrix(rows: list[list[mpq]]) -> np.ndarray:
    return np.array(rows, dtype=object)


@pytest.mark.parametrize(
    "u",
    [
        PRINTED,
        [[mpq(1, 2), mpq(1, 3), mpq(1, 6)], [mpq(1, 7), mpq(2, 7), mpq(4, 7)], [mpq(1, 9), mpq(1, 9), mpq(7, 9)]],
    ],
    ids=["K=2", "K=3"],
)
def test_the_score_is_minus_the_mean_logarithm_of_the_true_labels_probability(u: list[list[mpq]]) -> None:
    numbers = make_arithmetic("exact").at_precision(200)
    n_classes = len(u[0])

    assert all(sum(row) == 1 for row in u)
    for labels in itertools.product(range(n_classes), repeat=len(u)):
        score = LogLoss().score(np.array(labels), matrix(u), numbers)
        with gmpy2.context(precision=300):
            direct = -sum(gmpy2.log(row[k]) for row, k in zip(u, labels, strict=True)) / len(u)
            assert abs(score - direct) < gmpy2.exp2(-190)


def test_erratum_i1_the_printed_condition_sums_a_column() -> None:
    """u = [[.9, .1], [.8, .2]] is a matrix of predictions, and its columns sum to 1.7 and .3."""
    columns = [sum(row[k] for row in PRINTED) for k in range(2)]

    assert columns == [mpq(17, 10), mpq(3, 10)]
    assert LogLoss().fault(matrix(PRINTED), 2, 2) == ""
    assert float(LogLoss().score(np.array([0, 1]), matrix(PRINTED), make_arithmetic("exact"))) == pytest.approx(
        0.857399, abs=5e-7
    )
