"""Detecting matrices on bit sets: q weighings that tell labels 0..K-1 apart with entries 0..A, for any q (M5).

Rows are x = 1, ..., q, read as sets of bits. For every such set S and every weight ``w = K**j <= A 2**(|S| - 1)`` there
is a column ``f(x & S)``: f lives on the subsets of S of odd size, lies between 0 and A, and sums to w. The Moebius
transform of the answers at S sees nothing of columns whose set does not contain S, and of the columns of S their
weights times labels, digit by digit (Lindström 1965 is K = 2, A = 1). The columns number
``sum_{x <= q} (1 + floor(log_K(A 2**(|x| - 1))))``; for K = 2 and A = 1 that is the number of ones in 1, ..., q, about
``q log2(q) / 2``.

Example:
    >>> BitSets(n_queries=3).matrix().tolist()
    [[1, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> [n_columns(q) for q in (1, 3, 7, 15, 31, 63)]
    [1, 4, 12, 32, 80, 192]
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["BitSets", "entries", "n_columns", "queries_needed", "weights", "words"]


@attrs.frozen(kw_only=True)
class BitSets:
    """One detecting matrix.

    Attributes:
        n_queries: q, its rows, at least 1.
        n_values: K, the values a label can have, at least 2.
        largest: A, the largest entry, at least 1.
    """

    n_queries: int = attrs.field(validator=attrs.validators.ge(1))
    n_values: int = attrs.field(default=2, validator=attrs.validators.ge(2))
    largest: int = attrs.field(default=1, validator=attrs.validators.ge(1))

    def columns(self) -> Iterator[tuple[int, int]]:
        """Yield the set and the weight of every column, sets from 1 to q."""
        for chosen in range(1, self.n_queries + 1):
            for weight in weights(chosen.bit_count(), self.n_values, self.largest):
                yield chosen, weight

    def row(self, x: int, n_labels: int | None = None) -> NDArray[np.int64]:
        """Return row x of the matrix, 1 to q.

        Args:
            x: Its place.
            n_labels: Its first columns only.
        """
        place, weight, pieces = _table(self)
        inside = np.zeros(self.n_queries, dtype=np.int64)
        for bit in range(x.bit_length()):
            if x >> bit & 1:
                inside += pieces[bit]
        kept = slice(None, n_labels)
        return entries(inside[place[kept]], weight[kept], self.largest)

    def matrix(self) -> NDArray[np.int64]:
        """Return all rows, shape ``(q, columns)``."""
        return np.stack([self.row(x) for x in range(1, self.n_queries + 1)])


@functools.lru_cache(maxsize=8)
def _table(design: BitSets) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return set (from 0) and weight of every column, and for every bit what it adds to a set's word within it."""
    found = np.array(list(design.columns()), dtype=np.int64)
    sets = np.arange(1, design.n_queries + 1)
    below = [np.bitwise_count(sets & ((1 << bit) - 1)).astype(np.int64) for bit in range(design.n_queries.bit_length())]
    return found[:, 0] - 1, found[:, 1], [(sets >> bit & 1) << place for bit, place in enumerate(below)]


def weights(size: int, n_values: int, largest: int) -> list[int]:
    """Return the weights ``K**j <= A 2**(size - 1)`` of the columns of a set with ``size`` elements."""
    most, found = largest << (size - 1), [1]
    while found[-1] * n_values <= most:
        found.append(found[-1] * n_values)
    return found


def words(rows: NDArray[np.int64], chosen: int) -> NDArray[np.int64]:
    """Return what every row has in common with a set, as a word of the set's own bits from its lowest."""
    found, place = np.zeros_like(rows), 0
    for bit in range(chosen.bit_length()):
        if chosen >> bit & 1:
            found |= (rows >> bit & 1) << place
            place += 1
    return found


def entries(words: NDArray[np.int64], weight: NDArray[np.int64] | int, largest: int) -> NDArray[np.int64]:
    """Return the entries of columns in rows, elementwise, from the word that row and set have in common.

    The subsets of odd size of a set are counted in the order of their bits but the lowest, which their parity gives.
    The first of them have the entry A, the next one what is left of the weight, all others nothing.
    """
    left = np.clip(weight - largest * (words >> 1), 0, largest)
    return np.where(np.bitwise_count(words) & 1, left, 0)


@functools.cache
def n_columns(n_queries: int, n_values: int = 2, largest: int = 1) -> int:
    """Return how many labels ``n_queries`` queries detect."""
    return sum(len(weights(x.bit_count(), n_values, largest)) for x in range(1, n_queries + 1))


def queries_needed(n_labels: int, n_values: int = 2, largest: int = 1) -> int:
    """Return the least q that detects ``n_labels`` labels."""
    n_queries = columns = 0
    while columns < n_labels:
        n_queries += 1
        columns += len(weights(n_queries.bit_count(), n_values, largest))
    return n_queries
