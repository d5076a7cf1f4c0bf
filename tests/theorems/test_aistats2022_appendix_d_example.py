"""S52, AISTATS 2022, Appendix D: rows of distinct primes tell all labellings apart."""

from __future__ import annotations

import itertools
import math

import gmpy2
import numpy as np
import pytest

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss

ROWS = np.array([[gmpy2.mpq(k, 10) for k in (2, 3, 5)], [gmpy2.mpq(k, 31) for k in (7, 11, 13)]], dtype=object)


def test_all_nine_scores_differ() -> None:
    numbers = make_arithmetic("exact").at_precision(100)
    likelihoods = {ROWS[0, a] * ROWS[1, b] for a, b in itertools.product(range(3), repeat=2)}
    with numbers.context():
        scores = {LogLoss().score(np.array(sigma), ROWS, numbers) for sigma in itertools.product(range(3), repeat=2)}

    assert len(likelihoods) == len(scores) == 9


@pytest.mark.parametrize(("sigma", "product"), [((0, 2), 26), ((1, 0), 21)])
def test_the_worked_scores(sigma: tuple[int, int], product: int) -> None:
    numbers = make_arithmetic("exact").at_precision(100)
    with numbers.context():
        found = LogLoss().score(np.array(sigma), ROWS, numbers)

    assert float(found) == pytest.approx(-math.log(product / 310) / 2, rel=1e-15)
