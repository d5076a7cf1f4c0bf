"""Signs from noisy sums of signs, by least squares with orthogonal columns.

The curator's answers are ``r = A z + noise`` with A the first N columns of a Hadamard matrix of order q and z the
labels as signs. Then the least-squares estimate is ``A^T r / q``, one fast transform; its errors are uncorrelated and
q times less variable than one answer's.

Formal guarantees (labelinf theory, Hadamard least squares):

* noise of standard deviation nu in every answer: a sign is wrong with probability ``Phi(-sqrt(q) / nu)``;
* any noise bounded by nu: at most ``nu**2`` signs are wrong, because ``||A^T noise / q||**2 <= nu**2`` and every wrong
  or vanishing sign costs at least 1 of it. None is wrong when nu < 1.

Held by ``tests/scores/robust/test_least_squares.py``.

Example:
    >>> import numpy as np
    >>> matrix = Hadamard.of_order(4)
    >>> labels = np.array([1.0, 1.0, 1.0, -1.0])
    >>> sign_estimates(matrix, matrix.times(labels) + 0.9).round(3).tolist()
    [1.9, 1.0, 1.0, -1.0]
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.hadamard_matrix import Hadamard

__all__ = ["sign_accuracy", "sign_estimates", "wrong_signs"]


def sign_estimates(matrix: Hadamard, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares estimate of every sign.

    Args:
        matrix: The design, of order q.
        answers: One per row, shape ``(q,)``.

    Returns:
        Shape ``(q,)``; a column that was not asked about estimates zero.
    """
    return matrix.transposed_times(answers) / matrix.order


def sign_accuracy(queries: int, noise: float) -> float:
    """Return the probability that a sign is right: ``Phi(sqrt(q) / nu)``.

    Args:
        queries: q, an order of a Hadamard matrix with at least as many columns as signs.
        noise: nu, standard deviation of Gaussian noise of an answer, in units of a sign.
    """
    return NormalDist().cdf(math.sqrt(queries) / noise) if noise > 0 else 1.0


def wrong_signs(noise: float) -> int:
    """Return how many signs can be wrong at most when every answer errs by at most ``noise``."""
    return math.floor(noise**2)
