"""Labels from the weighings of a detecting matrix, by the recursion that proves it detects.

Sums and differences of the two halves of the answers are answers of smaller matrices; a parity gives the labels that
only one half sees. About ``q log2 q`` additions (Cantor and Mills 1966).

Example:
    >>> detect(np.array([2, -1]))
    array([0, 1, 1])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.detecting_matrix import halves

__all__ = ["detect"]


def detect(answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return z from ``D z``.

    Args:
        answers: Shape ``(q,)``.

    Returns:
        Shape ``(n_columns(q),)``; other values than 0 and 1 show that an answer was wrong.
    """
    if len(answers) <= 1:
        return answers
    larger, smaller = halves(len(answers))
    first, second = answers[:larger], answers[larger:]
    seen_once = (first[:smaller] + second) % 2
    sums = np.concatenate([(first[:smaller] + second - seen_once) // 2, first[smaller:]])
    return np.concatenate([detect(sums), detect((first[:smaller] - second - seen_once) // 2), seen_once])
