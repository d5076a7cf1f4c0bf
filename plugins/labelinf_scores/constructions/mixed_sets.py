"""Detecting matrices on bit sets whose columns count groups: digits of many ranges, some with entries of -1 (M10).

Rows and columns belong to sets of bits, as in ``constructions.bit_sets``. The Moebius transform of the answers at a set
is the sum of its own columns' weights times what they count, mixed radices: every weight is the product of the ranges
of those below it. A column of entries 0 and 1 can weigh ``2**(|S| - 1)``. A group whose count is
known has two halves, of which one tells the other, so that its entries are 1, 0 and -1, and it can weigh ``2**|S|``.
The last column of a set may have any range, since nothing weighs above it.

Example:
    >>> [tuple(place) for place in layout([2, 3, 2], n_fresh=1, together=4)]
    [(0, 1, 1, 0), (1, 1, None, 1), (1, 2, 2, 0), (2, 1, 0, 0)]
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.bit_sets import entries

__all__ = ["Place", "SetColumns", "layout"]


class Place(NamedTuple):
    """A column: its set, its weight, and what it counts.

    Attributes:
        chosen: The set, as bits.
        weight: What one more in the count adds to the Moebius transform at the set.
        split: Which of the groups with known counts it halves; None: it counts fresh records.
        n_fresh: How many of these.
    """

    chosen: int
    weight: int
    split: int | None
    n_fresh: int


def layout(ranges: Sequence[int], *, n_fresh: int, together: int, n_sets: int | None = None) -> list[Place]:
    """Return the columns, sets from the lowest.

    The count of widest range that is left stands at the top of every set; below it are single fresh records, and the
    counts of smallest range where there are none.

    Args:
        ranges: How many values the count of every half can take, each 2 at least.
        n_fresh: Records of which nothing is known.
        together: How many of these are counted as one group where no half is left for the top of a set.
        n_sets: Sets that are used at most; None: until everything is counted.
    """
    places = deque(sorted(range(len(ranges)), key=ranges.__getitem__))
    found: list[Place] = []
    for chosen in itertools.count(0 if places else 1):
        if not (places or n_fresh) or (n_sets is not None and chosen >= n_sets + (not ranges)):
            return found
        top = places.pop() if places else None
        group = min(together, n_fresh) if top is None else 0
        n_fresh -= group
        weight, most = 1, 1 << (chosen.bit_count() - (top is None))
        while n_fresh or places:
            radix = 2 if n_fresh else ranges[places[0]]
            if weight * radix > most:
                break
            found.append(Place(chosen, weight, None if n_fresh else places.popleft(), int(n_fresh > 0)))
            n_fresh -= n_fresh > 0
            weight *= radix
        found.append(Place(chosen, weight, top, group))
    raise AssertionError("sets do not end")


class SetColumns:
    """The columns of a layout, whose last place is of the largest set.

    Attributes:
        first: The first row that must be asked, 0 or 1; nothing is counted in row 0 otherwise.
        n_sets: One more than the last row.
        chosen: The set of every column.
        weight: Its weight.
        signed: Whether it has entries of -1.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self.first, self.n_sets = (0 if places[0].chosen == 0 else 1), places[-1].chosen + 1
        self.chosen, self.weight = (np.array([place[i] for place in places]) for i in (0, 1))
        self.signed = np.array([place.split is not None for place in places])
        bits = range(self.n_sets.bit_length())
        below = (np.bitwise_count(self.chosen & ((1 << bit) - 1)).astype(np.int64) for bit in bits)
        self._pieces = [(self.chosen >> bit & 1) << at for bit, at in enumerate(below)]

    def row(self, x: int) -> NDArray[np.int64]:
        """Return the entries 1, 0 and -1 of row x, one for every column."""
        common = np.zeros(len(self.chosen), dtype=np.int64)
        for bit, piece in enumerate(self._pieces):
            if x >> bit & 1:
                common += piece
        return _entries(common, self.weight, self.signed)

    def column(self, at: int, common: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the entries of one column, in rows that have these words in common with its set."""
        return _entries(common, self.weight[at], self.signed[at])


def _entries(
    common: NDArray[np.int64], weight: NDArray[np.int64] | int, signed: NDArray[np.bool_] | bool
) -> NDArray[np.int64]:
    """Return the entries of columns in rows, elementwise, from the word that row and set have in common.

    Signed columns have the first ``weight`` subsets of their set, those of even size with a minus.
    """
    both = np.where(common < weight, np.where(np.bitwise_count(common) & 1, 1, -1), 0)
    return np.where(signed, both, entries(common, weight, 1))
