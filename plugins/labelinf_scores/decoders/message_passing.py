"""Signs from fewer sums than signs: vector approximate message passing.

With q < n answers least squares leaves every sign disturbed by all the others. Alternating two steps removes most of
it: a linear estimate from what the answers leave unexplained, and the posterior mean of a sign given that estimate,
each passed on without what it already contained (S. Rangan, P. Schniter, A. K. Fletcher, "Vector approximate message
passing", *IEEE Transactions on Information Theory* 65, 2019). Rows of a Hadamard matrix form a tight frame, so that
the linear step is one fast transform each way.

How well it does follows from one number per step, the variance of the estimate ("state evolution"): the prediction
that :func:`predicted_accuracy` makes. It is a prediction for random rows and many signs, not a guarantee.

Example:
    >>> round(predicted_accuracy(order=1024, queries=1024, noise=13.76, bias=0.0), 3)
    0.99
    >>> round(predicted_accuracy(order=1024, queries=640, noise=0.01, bias=0.0), 3)
    1.0
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.hadamard_matrix import Hadamard

__all__ = ["posterior_logits", "predicted_accuracy"]

_STEPS = 50
_SURE = 1e-7  # variance of a sign that counts as known
_SETTLED = 1e-6  # relative change of a variance that counts as none


def posterior_logits(
    matrix: Hadamard,
    rows: NDArray[np.intp],
    answers: NDArray[np.float64],
    *,
    noise: float,
    bias: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return half the log-odds of +1 against -1 for every sign.

    Args:
        matrix: The full design, of order n.
        rows: Which rows were asked, shape ``(q,)``.
        answers: Their answers, shape ``(q,)``.
        noise: Standard deviation of an answer, in units of a sign.
        bias: Half the log-odds of every sign before asking, shape ``(n_signs,)``. They are in the first columns;
            the other columns were not asked about.

    Returns:
        Shape ``(n_signs,)``.
    """
    n_signs, logits = len(bias), bias
    mean = np.zeros(matrix.order)
    mean[:n_signs] = np.tanh(bias)
    variance = float(np.mean(1 - np.tanh(bias) ** 2))
    for _ in range(_STEPS):
        unexplained = np.zeros(matrix.order)
        unexplained[rows] = answers - matrix.times(mean)[rows]
        estimate = mean + matrix.transposed_times(unexplained) / len(rows)
        spread = _spread(matrix.order, len(rows), noise, variance)
        logits = estimate[:n_signs] / spread + bias
        signs = np.tanh(logits)
        remaining = float(np.mean(1 - signs**2))
        if remaining < _SURE:
            break
        variance = _extrinsic(remaining, spread)
        mean[:n_signs] = variance * (signs / remaining - estimate[:n_signs] / spread)
    return logits


def predicted_accuracy(*, order: int, queries: int, noise: float, bias: float, steps: int = _STEPS) -> float:
    """Return the expected share of signs that are right, by state evolution.

    Args:
        order: n, the signs (or columns) that the queries are about.
        queries: q <= n.
        noise: Standard deviation of an answer, in units of a sign.
        bias: Half the log-odds of a sign before asking.
        steps: Taken by the decoder; one is the correlation of every sign with the answers, which needs no luck.
    """
    variance, spread = 1 - math.tanh(bias) ** 2, math.inf
    for _ in range(steps):
        spread = _spread(order, queries, noise, variance)
        remaining = _remaining(spread, bias)
        before, variance = variance, _extrinsic(remaining, spread)
        if remaining < _SURE or abs(before - variance) < _SETTLED * before:
            break
    plus, scale, right = (1 + math.tanh(bias)) / 2, math.sqrt(spread), NormalDist().cdf
    return plus * right((1 + bias * spread) / scale) + (1 - plus) * right((1 - bias * spread) / scale)


def _spread(order: int, queries: int, noise: float, variance: float) -> float:
    """Variance of the linear estimate: what other signs leave, and what the noise leaves."""
    return max((order / queries - 1) * variance + noise**2 / queries, 1e-12)


def _extrinsic(remaining: float, spread: float) -> float:
    """Variance of the posterior mean without what it was told."""
    return 1 / max(1 / max(remaining, 1e-30) - 1 / spread, 1e-9)


def _remaining(spread: float, bias: float) -> float:
    """Mean posterior variance of a sign seen through Gaussian noise of variance ``spread``."""
    nodes, weights = _gauss_hermite()
    plus = (1 + math.tanh(bias)) / 2
    variances = [1 - np.tanh((sign + math.sqrt(spread) * nodes) / spread + bias) ** 2 for sign in (1, -1)]
    return float((plus * variances[0] + (1 - plus) * variances[1]) @ weights)


@functools.cache
def _gauss_hermite() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights of a mean over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    return nodes, weights / math.sqrt(2 * math.pi)
