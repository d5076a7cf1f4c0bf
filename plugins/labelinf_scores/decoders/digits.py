"""Labels from whole sums of superincreasing weights: the widest weight first, for many sums at once.

What is left after the wider weights is less than K times the next one, so its label is a quotient. The decoder is the
greedy one of the separation proof (largest differing row decides), in integers: nothing is compared, nothing rounded.

Example:
    >>> digits((1, 2, 4, 8), [5, 15])
    array([[1, 0, 1, 0],
           [1, 1, 1, 1]])
    >>> digits((1, 10, 100), [907], n_classes=10)
    array([[7, 0, 9]])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["digits"]


def digits(weights: Sequence[int], totals: Sequence[int], n_classes: int = 2) -> NDArray[np.intp]:
    """Return the labels of every total.

    Args:
        weights: Superincreasing, narrowest first, shape ``(m,)``.
        totals: Sums of ``label * weight``, of any size; one out of range (a query that went wrong) gives some labels.
        n_classes: K.

    Returns:
        Shape ``(len(totals), m)``.
    """
    small = max(map(abs, [*totals, *weights, 0])) < 1 << 62
    rest = np.array(totals, dtype=np.int64 if small else object)
    labels = np.empty((len(totals), len(weights)), dtype=np.intp)
    for place in reversed(range(len(weights))):
        label = np.clip(rest // weights[place], 0, n_classes - 1)
        labels[:, place] = label
        rest = rest - label * weights[place]
    return labels
