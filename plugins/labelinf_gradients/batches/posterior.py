r"""Counts of classes that never fall behind a guess without the gradient: the posterior of prior and own moments.

A release is a sum over samples, so the best linear estimate of its counts is the regression of a sample's class on its
own gradient, learnt from the adversary's own samples and applied to the sum: ``n = B pi + K (s - B mu)``. Where the
gradients say nothing, K is zero and the prior is left; how far they are to be believed is settled by leaving each own
sample out in turn. Classes are then guessed as the blind guess does, by the posterior instead of the prior: the B
largest of ``P(n_k >= j)``, the best guess of a multiset with these marginals (labelinf theory, corrections, D4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = ["best_counts", "posterior_counts"]

_RIDGES = np.logspace(-7, 3, 21)  # of the mean eigenvalue
_LEAST_VARIANCE = 1e-4


def posterior_counts(
    own: NDArray[np.float64],
    classes: NDArray[np.float64],
    seen: NDArray[np.float64],
    *,
    prior: NDArray[np.float64],
    units: int,
    batch: int,
    noise: float = 0.0,
) -> NDArray[np.intp]:
    """Return counts of every release, shape ``(n, C)``, that sum to the batch.

    Args:
        own: What each of the adversary's own units looks like, shape ``(m, d)``.
        classes: Its counts of classes, shape ``(m, C)``: a row of the identity for a single sample.
        seen: The releases, each a sum of units, shape ``(n, d)``.
        prior: Share of every class.
        units: How many units are behind a release.
        batch: B, how many samples.
        noise: Standard deviation of noise on every entry of ``seen``.
    """
    weights = _as_prior(classes, prior)
    middle, spread = weights @ own, own.std(axis=0)
    spread = np.where(spread > 1e-12 * max(float(spread.max(initial=0)), 1e-300), spread, np.inf)
    x, y = (own - middle) / spread, classes - weights @ classes
    left, values, right = np.linalg.svd(x, full_matrices=False)
    floor = (len(own) / units) * (noise / spread[np.isfinite(spread)]).mean() ** 2 if noise else 0.0
    found = [_left_out(left, values, y, ridge * (values**2).mean() + floor) for ridge in _RIDGES]
    errors = [float((residual**2).sum()) for residual in found]
    best = int(np.argmin(errors))
    ridge = _RIDGES[best] * (values**2).mean() + floor
    variance, move = (y**2).mean(axis=0), np.zeros((len(seen), y.shape[1]))
    if errors[best] < float((y**2).sum()) * (len(own) / (len(own) - 1)) ** 2:
        slope = right.T @ ((values / (values**2 + ridge))[:, None] * (left.T @ y))
        # What the own mean owes to chance within the classes is multiplied by the units.
        trust = 1 / (1 + errors[best] / float((y**2).sum()) * units / len(own))
        move = trust * ((seen - units * middle) / spread) @ slope
        variance = trust * (found[best] ** 2).mean(axis=0) + (1 - trust) * variance
    start = batch * prior
    return best_counts(start + move, np.broadcast_to(units * variance, move.shape), batch)


def _as_prior(classes: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights of the units, with sum one, under which their classes are as frequent as the prior says."""
    share = classes.mean(axis=0)
    ratio = np.where(share > 0, prior / np.where(share > 0, share, 1), 0.0)
    weights = classes @ ratio
    return np.asarray(weights / weights.sum())


def _left_out(
    left: NDArray[np.float64], values: NDArray[np.float64], y: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Return the error about every unit of a regression that has not seen it, shape ``(m, C)``."""
    share = values**2 / (values**2 + ridge)
    fitted = (left * share) @ (left.T @ y)
    own = (left**2 * share).sum(axis=1) + 1 / len(y)
    return np.asarray((y - fitted) / np.maximum(1 - own, 1e-3)[:, None])


def best_counts(mean: NDArray[np.float64], variance: NDArray[np.float64], batch: int) -> NDArray[np.intp]:
    """Return the counts that overlap most on average with normal ones, shape ``(n, C)``, summing to ``batch``.

    Args:
        mean: Of every class's count, shape ``(n, C)``.
        variance: The same.
        batch: What the counts sum to.
    """
    spread = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
    counts = np.zeros(mean.shape, dtype=np.intp)
    rows = np.arange(len(mean))
    for _ in range(batch):  # P(n_k >= j) falls with j: the largest of what is left is always the next one
        gain = ndtr((mean - counts - 0.5) / spread)
        counts[rows, gain.argmax(axis=1)] += 1
    return counts
