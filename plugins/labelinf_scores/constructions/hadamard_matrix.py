"""Hadamard matrices: signs in orthogonal columns, of almost every order that is a multiple of four.

A matrix of order n is kept as the Kronecker product of a Sylvester matrix (a power of two, never stored) and a small
core by Paley's two constructions over a prime field (R. E. A. C. Paley, *Journal of Mathematics and Physics* 12,
1933). So a row costs O(n), and the transform costs O(n log n) for the Sylvester part.

Example:
    >>> smallest_order(569), largest_order(570)
    (576, 568)
    >>> matrix = Hadamard.of_order(12)
    >>> rows = np.array([matrix.row(t) for t in range(12)])
    >>> bool((rows.T @ rows == 12 * np.eye(12)).all())
    True
"""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Hadamard", "largest_order", "smallest_order", "walsh_hadamard"]

_LARGEST_CORE = 512  # a core is stored and multiplied densely


@attrs.frozen(kw_only=True)
class Hadamard:
    """A Hadamard matrix H: entries +1 and -1, H^T H = n I.

    Attributes:
        doublings: a, of the Sylvester factor of order ``2**a``.
        core_order: Order of the stored factor.
    """

    doublings: int
    core_order: int

    @classmethod
    def of_order(cls, order: int) -> Hadamard:
        """Return a matrix of exactly this order.

        Raises:
            ValueError: None is known to this module.
        """
        matrix = _factor(order)
        if matrix is None:
            raise ValueError(f"order={order} must be a power of two times an order of Paley's up to {_LARGEST_CORE}")
        return cls(doublings=matrix[0], core_order=matrix[1])

    @property
    def order(self) -> int:
        """Number n of rows and columns."""
        return self.core_order << self.doublings

    def row(self, index: int) -> NDArray[np.int8]:
        """Return one row, shape ``(n,)``."""
        block, place = divmod(index, self.core_order)
        shared = np.bitwise_count(np.arange(1 << self.doublings) & block)
        signs = (1 - 2 * (shared % 2)).astype(np.int8)
        return np.asarray(np.kron(signs, core(self.core_order)[place]))

    def times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``H vector``, shape ``(n,)``."""
        return self._apply(vector, core(self.core_order).T)

    def transposed_times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``H^T vector``, shape ``(n,)``."""
        return self._apply(vector, core(self.core_order))

    def _apply(self, vector: NDArray[np.float64], right: NDArray[np.int8]) -> NDArray[np.float64]:
        # vec(S X C) = (S kron C^T) vec(X) for X in rows, and the Sylvester factor S is symmetric.
        blocks = walsh_hadamard(np.asarray(vector, dtype=float).reshape(-1, self.core_order))
        return np.asarray(blocks @ right).ravel()


def walsh_hadamard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Sylvester matrix times ``values``, along the first axis, in O(n log n).

    Args:
        values: The length of the first axis is a power of two.
    """
    length = len(values)
    result = values.astype(float)
    half = 1
    while half < length:
        pairs = result.reshape(length // (2 * half), 2, half, -1)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        half *= 2
    return result.reshape(values.shape)


def smallest_order(at_least: int) -> int:
    """Return the smallest order >= ``at_least`` that :class:`Hadamard` has."""
    order = at_least
    while _factor(order) is None:
        order += 1
    return order


def largest_order(at_most: int) -> int:
    """Return the largest order <= ``at_most`` that :class:`Hadamard` has; ``at_most`` is at least 1."""
    order = at_most
    while _factor(order) is None:
        order -= 1
    return order


@functools.cache
def core(order: int) -> NDArray[np.int8]:
    """Return the stored factor: order 1, or one of Paley's constructions."""
    if order == 1:
        return np.ones((1, 1), dtype=np.int8)
    if _is_prime(order - 1) and order % 4 == 0:
        # Paley I: a skew conference matrix plus the identity.
        return (_conference(order - 1) + np.eye(order, dtype=np.int8)).astype(np.int8)
    # Paley II: a symmetric conference matrix, every entry blown up to two by two.
    conference = _conference(order // 2 - 1)
    on, off = np.array([[1, 1], [1, -1]]), np.array([[1, -1], [-1, -1]])
    return (np.kron(conference, on) + np.kron(np.eye(order // 2), off)).astype(np.int8)


def _conference(prime: int) -> NDArray[np.int8]:
    """Return the conference matrix of order p + 1: zero diagonal, orthogonal rows of signs elsewhere."""
    squares = np.zeros(prime, dtype=np.int8) - 1
    squares[np.arange(prime, dtype=np.int64) ** 2 % prime] = 1
    squares[0] = 0
    difference = np.subtract.outer(np.arange(prime), np.arange(prime)) % prime
    matrix = np.ones((prime + 1, prime + 1), dtype=np.int8)
    matrix[0, 0] = 0
    matrix[1:, 0] = -1 if prime % 4 == 3 else 1
    matrix[1:, 1:] = squares[difference]
    return matrix


@functools.cache
def _factor(order: int) -> tuple[int, int] | None:
    """Return the doublings and the smallest core of an order; None when there is none."""
    found, doublings = None, 0
    while True:
        if order == 1 or (order <= _LARGEST_CORE and _is_paley(order)):
            found = doublings, order
        if order % 2:
            return found
        order, doublings = order // 2, doublings + 1


def _is_paley(order: int) -> bool:
    return order % 4 == 0 and (_is_prime(order - 1) or (order // 2 % 4 == 2 and _is_prime(order // 2 - 1)))


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
