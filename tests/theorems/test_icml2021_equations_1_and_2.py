"""S3, ICML 2021, equations 1 and 2: with u = v / (1 + v), N l = sum ln(1 + v_i) - sum over labels 1 of ln v_i."""

from __future__ import annotations

import itertools

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss

NUMBERS = make_arithmetic("exact").at_precision(260)


def loss_of(v: list[mpq], labels: tuple[int, ...]) -> gmpy2.mpfr:
    u = np.array([x / (1 + x) for x in v], dtype=object)
    return LogLoss().score(np.array(labels), u, NUMBERS)


def equation_2(v: list[mpq], labels: tuple[int, ...]) -> gmpy2.mpfr:
    constant = sum(gmpy2.log(1 + x) for x in v)
    return (constant - sum(gmpy2.log(x) for x, k in zip(v, labels, strict=True) if k)) / len(v)


@pytest.mark.parametrize("v", [[2], [2, 3], [2, 3, 5, 7, 11], [mpq(1, 3), mpq(9), mpq(5, 2), mpq(1)]], ids=str)
def test_equation_2_holds_for_every_labelling(v: list[int]) -> None:
    for labels in itertools.product((0, 1), repeat=len(v)):
        with gmpy2.context(precision=300):
            assert abs(loss_of([mpq(x) for x in v], labels) - equation_2([mpq(x) for x in v], labels)) < 1e-70


def test_equation_2_holds_for_random_vectors_to_sixty_digits() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        n_records = int(rng.integers(1, 30))
        v = [mpq(int(a), int(b)) for a, b in rng.integers(1, 10**6, size=(n_records, 2))]
        labels = tuple(rng.integers(0, 2, n_records).tolist())
        with gmpy2.context(precision=300):
            assert abs(loss_of(v, labels) - equation_2(v, labels)) < 1e-60


def test_the_worked_number() -> None:
    assert float(loss_of([mpq(2), mpq(3)], (1, 0))) == pytest.approx(0.895880, abs=5e-7)
