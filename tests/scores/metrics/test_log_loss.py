from __future__ import annotations

import math

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.log_loss import LogLoss

DOUBLES = make_arithmetic("float64")


@pytest.mark.parametrize("n_classes", [2, 3, 6, 10])
@pytest.mark.parametrize("name", ["float64", "exact"])
def test_label_k_of_a_row_costs_k_steps_more_than_label_0(n_classes: int, name: str) -> None:
    numbers = make_arithmetic(name)
    steps = np.array([1e-3, 0.7, 3.5, -2.0])
    with numbers.context():
        rows = LogLoss().rows(steps, n_classes, numbers)
        costs = LogLoss().costs(rows, numbers)
        sums = np.asarray(rows.sum(axis=1), dtype=float)
        found = np.asarray(costs - costs[:, :1], dtype=float)

    assert np.allclose(sums, 1, atol=1e-15)
    assert np.allclose(found, steps[:, None] * np.arange(n_classes), rtol=1e-12, atol=1e-13)


def test_rows_of_huge_steps_neither_overflow_nor_warn() -> None:
    rows = LogLoss().rows(np.array([400.0, -400.0]), 3, DOUBLES)

    assert np.allclose(rows, [[1, 0, 0], [0, 0, 1]])


def test_a_zero_probability_of_the_true_label_alone_costs_infinity() -> None:
    for name in ("float64", "exact"):
        numbers = make_arithmetic(name)
        assert LogLoss().score(np.array([0, 1]), np.array([0.0, 1.0]), numbers) == 0
        assert LogLoss().score(np.array([1, 1]), np.array([0.0, 1.0]), numbers) == math.inf


def test_the_papers_worked_example() -> None:
    """ICML 2021, Theorem 1: v = (2, 3, 5, 7, 11), labels 01101."""
    v = [2, 3, 5, 7, 11]
    u = np.array([mpq(p, 1 + p) for p in v], dtype=object)
    numbers = make_arithmetic("exact").at_precision(100)
    score = LogLoss().score(np.array([0, 1, 1, 0, 1]), u, numbers)

    assert float(score) == pytest.approx(0.7470137673166621, rel=1e-15)
    with numbers.context():
        assert abs(6912 * gmpy2.exp(-5 * score) - 165) < 1e-25


@pytest.mark.parametrize(
    ("predictions", "fault"),
    [
        (np.full(3, 0.5), "predictions have shape (3,), expected (4, 2) or (4,)."),
        (np.full((4, 3), 0.5), "predictions have shape (4, 3), expected (4, 2) or (4,)."),
        (np.array([0.5, 1.5, 0.5, 0.5]), "prediction 1.5 in row 1 must be a probability between 0 and 1."),
        (np.array([0.5, 0.5, np.nan, 0.5]), "prediction nan in row 2 must be a probability between 0 and 1."),
        (np.array([0.5, 0.5, 0.5, -np.inf]), "prediction -inf in row 3 must be a probability between 0 and 1."),
        (np.array(["a", "b", "c", "d"]), "predictions have type <U1, expected numbers."),
        (np.array([mpq(1, 2), mpq(3, 2), mpq(0), mpq(1)], dtype=object), "prediction 3/2 in row 1 must be"),
        (np.array([0, 1, 0.5, 1]), ""),
        (np.array([mpq(1, 2)] * 4, dtype=object), ""),
    ],
)
def test_malformed_predictions_are_named(predictions: np.ndarray, fault: str) -> None:
    found = LogLoss().fault(predictions, 4, 2)

    assert found.startswith(fault)
    assert bool(found) == bool(fault)
