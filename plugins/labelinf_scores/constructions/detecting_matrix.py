"""Detecting matrices: q weighings that tell apart about ``q log2(q) / 2`` coins, with weights +1, -1 and 0.

Every query of a block attack could ask about one record at full span and nothing more: the others are hidden by the
noise. A detecting matrix asks about many at full span in *every* query and still separates all labellings: the sums
``D z`` differ for different z in {0, 1}. The noise survived is that of one label per query, ``L / (2 N)``, and the
queries are fewer by the factor ``1 + log2(q) / 2`` (Cantor and Mills, *Canadian Journal of Mathematics* 1966, for
powers of two; Lindström 1965 for the same count of 0-1 matrices).

Here for any q: of ``a = ceil(q / 2)`` and ``b = floor(q / 2)`` queries,

    D_q = [ D_a  D_b'  I' ]      rows of D_b' and I' beyond the b-th are zero
          [ D_a^  -D_b  0 ]      D_a^: the first b rows of D_a

Proof that it detects: if ``y`` are the answers, ``y_i + y_(a+i) = 2 (D_a u)_i + w_i`` gives w by parity and then
``D_a u``; the difference gives ``D_b v``; recurse. The columns number ``C(q) = C(a) + C(b) + b``, which is the sum of
1 + (number of ones in the binary digits of i) over i < q.

Example:
    >>> detecting_matrix(2)
    array([[ 1,  1,  1],
           [ 1, -1,  0]], dtype=int8)
    >>> [n_columns(q) for q in (1, 2, 3, 4, 8, 1024)]
    [1, 3, 5, 8, 20, 6144]
"""

from __future__ import annotations

import bisect
import functools

import numpy as np
from numpy.typing import NDArray

_SMALL = 64  # rows of a matrix that is kept

__all__ = ["detecting_matrix", "detecting_row", "halves", "n_columns", "queries_needed"]


def halves(n_queries: int) -> tuple[int, int]:
    """Return the number of rows of the two smaller matrices, the larger first."""
    return -(-n_queries // 2), n_queries // 2


@functools.cache
def n_columns(n_queries: int) -> int:
    """Return how many labels ``n_queries`` queries detect."""
    if n_queries <= 1:
        return n_queries
    first, second = halves(n_queries)
    return n_columns(first) + n_columns(second) + second


def queries_needed(n_labels: int, extra_per_query: int = 0) -> int:
    """Return the least q with ``C(q) + q * extra_per_query >= n_labels``."""
    return bisect.bisect_left(range(max(n_labels, 1)), n_labels, key=lambda q: n_columns(q) + q * extra_per_query)


def detecting_row(n_queries: int, row: int) -> NDArray[np.int8]:
    """Return one row of the matrix, without the others: they need not fit into memory.

    Args:
        n_queries: q, at least 1.
        row: Its place, from 0.

    Returns:
        Entries +1, -1 and 0, shape ``(n_columns(q),)``.
    """
    return _small_matrix(n_queries)[row] if n_queries <= _SMALL else _composed(n_queries, row)


def detecting_matrix(n_queries: int) -> NDArray[np.int8]:
    """Return the whole matrix, shape ``(q, n_columns(q))``."""
    return np.stack([detecting_row(n_queries, row) for row in range(n_queries)])


@functools.cache
def _small_matrix(n_queries: int) -> NDArray[np.int8]:
    if n_queries == 1:
        return np.ones((1, 1), dtype=np.int8)
    return np.stack([_composed(n_queries, row) for row in range(n_queries)])


def _composed(n_queries: int, row: int) -> NDArray[np.int8]:
    first, second = halves(n_queries)
    identity = np.zeros(second, dtype=np.int8)
    if row >= first:
        return np.concatenate([detecting_row(first, row - first), -detecting_row(second, row - first), identity])
    if row >= second:
        return np.concatenate([detecting_row(first, row), np.zeros(n_columns(second), dtype=np.int8), identity])
    identity[row] = 1
    return np.concatenate([detecting_row(first, row), detecting_row(second, row), identity])
