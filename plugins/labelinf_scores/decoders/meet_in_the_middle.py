"""The labelling whose sum is nearest, in the square root of the time: all sums of one half, looked up in the other.

For every labelling of the second half the best of the first is the sorted sum next to what is missing (Horowitz and
Sahni, *Journal of the ACM*, 1974). Forty labels take two tables of a million sums. Weights without any structure, such
as Conway and Guy's, have no faster decoder that is known.

Floats, 64-bit integers and object arrays of integers or rationals are all served; the latter exactly.

Example:
    >>> nearest_labelling([3, 5, 6, 7], 14)
    array([1, 1, 1, 0])
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelinf_scores.decoders.exhaustive import all_sums, as_costs, labels_of_index

__all__ = ["SumTable", "nearest_labelling"]


@attrs.frozen(kw_only=True, eq=False)
class SumTable:
    """All sums of some rows in increasing order, for many look-ups.

    Attributes:
        sums: Increasing, shape ``(K**m,)``.
        order: Place of every sum in counting order, shape ``(K**m,)``.
        n_rows: m.
        n_classes: K.
    """

    sums: NDArray[Any]
    order: NDArray[np.intp]
    n_rows: int
    n_classes: int

    @classmethod
    def of(cls, gaps: ArrayLike) -> SumTable:
        """Tabulate ``gaps`` of shape ``(m,)`` or ``(m, K)``.

        Raises:
            ValueError: There are too many sums for a table.
        """
        costs = as_costs(gaps)
        sums = all_sums(costs)
        order = np.argsort(sums, kind="stable")
        return cls(sums=sums[order], order=order, n_rows=costs.shape[0], n_classes=costs.shape[1])

    def nearest(self, targets: Any) -> NDArray[np.intp]:
        """Return the place in :attr:`sums` that is nearest to every target; of two, the lower."""
        last = len(self.sums) - 1
        if last == 0:
            return np.zeros(np.shape(targets), dtype=np.intp)
        right: NDArray[np.intp] = np.asarray(np.searchsorted(self.sums, targets)).clip(1, last)
        left_is_nearer = targets - self.sums[right - 1] <= self.sums[right] - targets
        return np.where(left_is_nearer, right - 1, right)

    def decode(self, targets: Any) -> NDArray[np.intp]:
        """Return the labels whose sum is nearest to every target, shape ``(..., m)``."""
        return labels_of_index(self.order[self.nearest(targets)], self.n_rows, self.n_classes)


def nearest_labelling(gaps: ArrayLike, target: Any) -> NDArray[np.intp]:
    """Return the labelling whose sum of gaps is nearest to ``target``.

    Args:
        gaps: Shape ``(m,)``: how much more label 1 costs than label 0. Or shape ``(m, K)``: what each label costs.
        target: The observed sum, in the same unit.

    Returns:
        Labels, shape ``(m,)``.

    Raises:
        ValueError: Half of the rows has too many labellings for a table.
    """
    costs = as_costs(gaps)
    half = len(costs) // 2
    table = SumTable.of(costs[:half])
    second = all_sums(costs[half:])
    missing = target - second
    place = table.nearest(missing)
    best = int(np.abs(table.sums[place] - missing).argmin())
    first = labels_of_index(table.order[place[best]], half, costs.shape[1])
    return np.concatenate([first, labels_of_index(best, len(costs) - half, costs.shape[1])])
