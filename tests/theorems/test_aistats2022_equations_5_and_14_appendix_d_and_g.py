"""S44, AISTATS 2022, equations 5 and 14, appendices D and G: losses of logits. Errata A-18 and A-19.

The design is that of Theorem 3 with repaired indices: logit of class k in row n, both counted from 1, is
``-2**((n - 1) K + k) N tau ln 3`` up to a constant per row.
"""

from __future__ import annotations

import itertools
import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.constructions.powers import class_exponents
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss

NUMBERS = make_arithmetic("exact").at_precision(200)
DOUBLES = make_arithmetic("float64")


def theorem_3(n_records: int, n_classes: int, tau: float) -> np.ndarray:
    """Logits, shifted so that the largest of every row is 0."""
    exponents = class_exponents(n_records, n_classes)
    return -(exponents - exponents.min(axis=1, keepdims=True)) * n_records * tau * math.log(3)


@pytest.mark.parametrize("shift", [mpq(0), mpq(7, 3), mpq(-(10**6))])
def test_logits_ln_theta_plus_any_constant_score_as_the_probabilities_do(shift: mpq) -> None:
    u = np.array([[mpq(2, 10), mpq(3, 10), mpq(5, 10)], [mpq(7, 31), mpq(11, 31), mpq(13, 31)]], dtype=object)
    with NUMBERS.context():
        logits = NUMBERS.log(u) + shift
    for labels in itertools.product(range(3), repeat=2):
        of_logits = SoftmaxLogLoss().score(np.array(labels), logits, NUMBERS)
        of_probabilities = LogLoss().score(np.array(labels), u, NUMBERS)
        assert abs(of_logits - of_probabilities) < gmpy2.exp2(-170)


def test_erratum_a18_the_system_of_logits_is_not_fully_specified() -> None:
    """Two different rows of logits with the same softmax: no score tells them apart."""
    z = np.array([[0.5, -1.0, 2.0]])
    with NUMBERS.context():
        one, other = (SoftmaxLogLoss().costs(NUMBERS.convert(row), NUMBERS) for row in (z, z + 4.0))
        assert np.all(abs(one - other) < gmpy2.exp2(-190))


def test_erratum_a18_sigmoid_logits_range_over_the_reals() -> None:
    """A gap of 5 takes the logit -5, outside the printed domain (0, 1), inside which gaps stay within (-1, 0)."""
    with NUMBERS.context():
        (z,) = SigmoidLogLoss().prediction(np.array([5]), NUMBERS)
        costs = SigmoidLogLoss().costs(NUMBERS.convert([z, 0, 1]), NUMBERS)
        gaps = costs[:, 1] - costs[:, 0]
        assert z == -5
        assert np.all(abs(gaps - np.array([5, 0, -1])) < gmpy2.exp2(-190))


def test_the_sigmoid_is_the_softmax_of_two_logits() -> None:
    labels, z = np.array([0, 1, 1]), np.array([mpq(-3), mpq(1, 2), mpq(40)], dtype=object)
    rows = np.stack([0 * z, z], axis=1)

    assert SigmoidLogLoss().score(labels, z, NUMBERS) == SoftmaxLogLoss().score(labels, rows, NUMBERS)


def test_erratum_a19_logits_need_fewer_bits_than_probabilities() -> None:
    """N = 10, K = 2, tau = 1: 23 integer bits for the logits, 8.31e6 bits for the smallest probability."""
    largest = -theorem_3(10, 2, 1.0).min()

    assert 2**22 < largest < 2**23
    assert largest / math.log(2) == pytest.approx(8.31e6, rel=1e-3)


def test_erratum_a19_doubles_separate_all_labellings_by_logits_whose_probabilities_underflow() -> None:
    logits = theorem_3(10, 2, 1.0)
    labellings = [np.array(labels) for labels in itertools.product((0, 1), repeat=10)]
    with DOUBLES.context():
        scores = np.sort([SoftmaxLogLoss().score(labels, logits, DOUBLES) for labels in labellings])
        probabilities = np.exp(logits)
        ones = LogLoss().score(np.ones(10, dtype=np.intp), probabilities, DOUBLES)

    assert np.diff(scores).min() == pytest.approx(2 * math.log(3), rel=1e-6)  # Lambda = 2 tau ln 3
    assert probabilities.min() == 0
    assert ones == math.inf
