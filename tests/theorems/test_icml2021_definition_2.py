"""S2, ICML 2021, Definition 2: the binary log-loss."""

from __future__ import annotations

import itertools
import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("exact").at_precision(200)


@pytest.mark.parametrize("n_records", [1, 2, 3, 4])
def test_the_score_of_every_labelling_is_the_definition(n_records: int) -> None:
    u = [mpq(i + 1, i + 3) for i in range(n_records)]
    for labels in itertools.product((0, 1), repeat=n_records):
        score = LogLoss().score(np.array(labels), np.array(u, dtype=object), NUMBERS)
        with gmpy2.context(precision=300):
            direct = -sum(gmpy2.log(p if k else 1 - p) for p, k in zip(u, labels, strict=True)) / n_records
            assert abs(score - direct) < gmpy2.exp2(-190)


def test_equal_probabilities_score_ln_2_whatever_the_labels() -> None:
    halves = np.array([mpq(1, 2)] * 5, dtype=object)
    scores = {LogLoss().score(np.array(labels), halves, NUMBERS) for labels in itertools.product((0, 1), repeat=5)}

    assert len(scores) == 1
    assert float(scores.pop()) == pytest.approx(math.log(2), rel=1e-15)


def test_a_vector_and_its_two_columns_have_the_same_score() -> None:
    u = np.array([mpq(1, 3), mpq(2, 5), mpq(1, 7)], dtype=object)
    labels = np.array([0, 1, 1])

    assert LogLoss().score(labels, np.stack([1 - u, u], axis=1), NUMBERS) == LogLoss().score(labels, u, NUMBERS)
