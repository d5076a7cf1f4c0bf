"""All subsets whose sum falls into a narrow window, by branch and bound from the largest weight down.

Where weights nearly double, as those of a block do, each branch but one or two dies at once: the time is that of the
subsets found. Weights are whole numbers of any size, so that nothing is rounded.

Example:
    >>> subsets_between([1, 2, 4], 4, 5).tolist()
    [[0, 0, 1], [1, 0, 1]]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["subsets_between"]


def subsets_between(weights: Sequence[int], low: int, high: int) -> NDArray[np.int8]:
    """Return the subsets of ``weights`` with ``low <= sum <= high``, as rows of 0 and 1.

    Args:
        weights: At least 0, in ascending order (any other is only slower).
        low: Closed.
        high: Closed.
    """
    below = list(itertools.accumulate(weights, initial=0))
    partial: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for place in range(len(weights) - 1, -1, -1):
        partial = [
            (total, (bit, *chosen))
            for kept, chosen in partial
            for bit, total in ((0, kept), (1, kept + weights[place]))
            if total <= high and total + below[place] >= low
        ]
    found = [chosen for total, chosen in partial if low <= total <= high]
    return np.array(found, dtype=np.int8).reshape(len(found), len(weights))
