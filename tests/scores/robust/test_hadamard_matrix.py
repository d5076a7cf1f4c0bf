"""Hadamard matrices: orthogonal, of many orders, with a transform that is the matrix product."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard as sylvester

from labelinf_scores.constructions.hadamard_matrix import Hadamard, largest_order, smallest_order, walsh_hadamard

ORDERS = [n for n in range(1, 130) if smallest_order(n) == n]


def dense(order: int) -> np.ndarray:
    matrix = Hadamard.of_order(order)
    return np.array([matrix.row(index) for index in range(order)], dtype=int)


@pytest.mark.parametrize("order", [*ORDERS, 256, 428 + 4, 504])
def test_columns_are_orthogonal_signs(order: int) -> None:
    matrix = dense(order)
    assert set(np.unique(matrix)) <= {-1, 1}
    assert (matrix.T @ matrix == order * np.eye(order)).all()


@pytest.mark.parametrize("order", [1, 2, 12, 20, 28, 64, 96, 120])
def test_both_transforms_are_the_matrix_product(order: int) -> None:
    vector = np.random.default_rng(order).normal(size=order)
    matrix, fast = dense(order), Hadamard.of_order(order)
    assert fast.times(vector) == pytest.approx(matrix @ vector)
    assert fast.transposed_times(vector) == pytest.approx(matrix.T @ vector)


@pytest.mark.parametrize("log_length", range(8))
def test_the_walsh_transform_is_sylvesters_matrix(log_length: int) -> None:
    length = 2**log_length
    values = np.random.default_rng(0).normal(size=(length, 3))
    assert walsh_hadamard(values) == pytest.approx(sylvester(length) @ values)


def test_only_one_two_and_multiples_of_four_have_one() -> None:
    assert set(ORDERS) <= {1, 2} | set(range(4, 132, 4))
    assert {4 * k for k in range(1, 33)} - set(ORDERS) == {52, 92, 100, 116}


def test_neighbouring_orders_are_close() -> None:
    for n in (100, 569, 1372, 25_000):
        assert n <= smallest_order(n) <= 1.03 * n + 12
        assert n >= largest_order(n) >= 0.97 * n - 12


def test_an_order_that_is_not_known_says_so() -> None:
    with pytest.raises(ValueError, match=r"order=6 must be a power of two times"):
        Hadamard.of_order(6)


def test_a_large_matrix_is_never_stored() -> None:
    matrix = Hadamard.of_order(2**18)
    row = matrix.row(2**18 - 1)
    assert row.shape == (2**18,)
    assert matrix.times(row.astype(float))[-1] == 2**18
