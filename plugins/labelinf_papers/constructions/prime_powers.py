"""Powers of distinct primes: one row spells out one of K classes (Aggarwal et al., ICML 2021, Theorems 3 and 8).

Row i predicts class k with a probability proportional to ``p_i ** e_k``. N times the log-loss of a labelling is then
``ln(T / X)`` with ``T = prod(sum_k p_i ** e_k)`` and ``X = prod(p_i ** e_(label of i))``, and the exponents of the
primes in the integer X are the classes.

With exponents 0..K-1 (:func:`all_classes`) one exact query recovers everything. In bounded precision fewer classes
are told apart by one query. The form printed for that (:func:`printed_block_rows`) gives exponent 0 both to the first
class asked about and to every class not asked about, so they collide (erratum I-6); :func:`class_block` starts the
exponents of the classes asked about at one.

Example:
    >>> primes = np.array([2, 3])
    >>> [[str(u) for u in row] for row in power_rows(primes, all_classes(3))]
    [['1/7', '2/7', '4/7'], ['1/13', '3/13', '9/13']]
    >>> class_block(5, first=1, count=2)
    (0, 1, 2, 0, 0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gmpy2
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["all_classes", "class_block", "power_rows", "printed_block_rows", "row_sums"]


def all_classes(n_classes: int) -> tuple[int, ...]:
    """Return the exponents 0..K-1 of Theorem 8, one for each class."""
    return tuple(range(n_classes))


def class_block(n_classes: int, *, first: int, count: int) -> tuple[int, ...]:
    """Return exponents that tell ``count`` classes, from ``first`` on, from one another and from all others.

    Theorem 3 for bounded precision, repaired: exponents 1..count on the block, 0 means *not in the block*.

    Args:
        n_classes: K.
        first: First class asked about, 0..K-1.
        count: How many are asked about; those beyond K-1 do not exist.

    Returns:
        One exponent for each class, length K.
    """
    return tuple(k - first + 1 if first <= k < first + count else 0 for k in range(n_classes))


def row_sums(primes: NDArray[np.int64], exponents: Sequence[int]) -> list[Any]:
    """Return ``sum_k p_i ** e_k`` for every prime; their product is the T of Theorem 8."""
    return [sum(gmpy2.mpz(prime) ** e for e in exponents) for prime in primes.tolist()]


def power_rows(primes: NDArray[np.int64], exponents: Sequence[int]) -> NDArray[Any]:
    """Return ``u[i, k] = p_i ** e_k / sum_j p_i ** e_j`` as rationals.

    Args:
        primes: Distinct primes, shape ``(m,)``.
        exponents: One for each class, length K.

    Returns:
        Shape ``(m, K)``; rows sum to one. Two classes with exponents 0 and 1 give Theorem 1.
    """
    rows = np.empty((len(primes), len(exponents)), dtype=object)
    for i, (prime, total) in enumerate(zip(primes.tolist(), row_sums(primes, exponents), strict=True)):
        rows[i] = [gmpy2.mpq(gmpy2.mpz(prime) ** e, total) for e in exponents]
    return rows


def printed_block_rows(primes: NDArray[np.int64], n_classes: int, size: int) -> NDArray[Any]:
    """Return the matrix ``u^(m)`` of Theorem 3 as printed, for the first ``size`` classes; kept to show erratum I-6.

    Its powers ``p_i ** (k-1)`` for classes k = 1..m start at one, the value of every class outside the block.

    Args:
        primes: Shape ``(size,)``.
        n_classes: K.
        size: m, rows and classes of the block alike.

    Returns:
        Shape ``(size, K)``.
    """
    return power_rows(primes, tuple(k if k < size else 0 for k in range(n_classes)))
