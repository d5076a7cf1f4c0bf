"""All labellings whose sums lie in an interval, in the square root of the time: sums of two halves, met in the middle.

As the nearest labelling is found (Horowitz and Sahni, *Journal of the ACM*, 1974), but here are all that an answer
leaves: what they share is decided. Sums are 64-bit integers. Where what the second half is
worth depends on how many positives the first half has, every such number has tables of its own.

Example:
    >>> sums_between([halves([3, 5, 6, 7, 9])], 13, 14, n_labels=5).tolist()
    [[1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 1, 0, 0, 1]]
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelinf_scores.decoders.exhaustive import all_sums, as_costs, labels_of_index

__all__ = ["Halves", "halves", "sums_between"]


@attrs.frozen(kw_only=True, eq=False)
class Halves:
    """Sums of two halves, each increasing, with the labellings that they are of.

    Attributes:
        first: Shape ``(n_first,)``.
        first_at: Their labellings, in counting order.
        second: Shape ``(n_second,)``.
        second_at: Their labellings.
    """

    first: NDArray[np.int64]
    first_at: NDArray[np.intp]
    second: NDArray[np.int64]
    second_at: NDArray[np.intp]

    @classmethod
    def of(cls, first: NDArray[np.int64], first_at: NDArray[np.intp], second: NDArray[np.int64]) -> Halves:
        """Sort two halves; ``second`` is in counting order."""
        one, two = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
        return cls(first=first[one], first_at=first_at[one], second=second[two], second_at=two)

    def between(self, low: int, high: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the pairs, one of each half, whose sums are at least ``low`` and at most ``high``, as labellings."""
        start = np.searchsorted(self.first, low - self.second, side="left")
        count = np.searchsorted(self.first, high - self.second, side="right") - start
        found = np.flatnonzero(count > 0)
        which = np.repeat(found, count[found])
        ahead = np.cumsum(count[found]) - count[found]
        first = np.repeat(start[found] - ahead, count[found]) + np.arange(which.size)
        return self.first_at[first], self.second_at[which]


def halves(gaps: ArrayLike) -> Halves:
    """Return the sums of the first half of ``gaps``, shape ``(m,)``, and of the second."""
    costs = as_costs(np.asarray(gaps, dtype=np.int64))
    first = all_sums(costs[: len(costs) // 2])
    return Halves.of(first, np.arange(first.size), all_sums(costs[len(costs) // 2 :]))


def sums_between(tables: Iterable[Halves], low: int, high: int, *, n_labels: int) -> NDArray[np.int8]:
    """Return all labellings whose sums lie between, shape ``(n, n_labels)``; the first half has ``n_labels // 2``."""
    n_first = n_labels // 2
    pairs = [table.between(low, high) for table in tables]
    first, second = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
    one, two = labels_of_index(first, n_first, 2), labels_of_index(second, n_labels - n_first, 2)
    return np.concatenate([one, two], axis=1).astype(np.int8)
