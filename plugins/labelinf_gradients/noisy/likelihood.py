"""The likeliest label of a noisy one-sample gradient: least squares over scales and labels of a family.

With Gaussian noise on ``G = a v'`` the likelihood of a scale falls with ``sum (h - mean h)^2`` over the entries outside
S, ``h = t p - a``. The variance of the pseudo label, which the paper minimises (Wang et al., ICLR 2024, eq. 5), is that
divided by ``t^2``: it prefers large scales and is not the likelihood (labelinf theory, noise).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.problem import Problem

__all__ = ["likeliest_scales"]

_POSITIVE = np.logspace(0, 3, 91)
_STEPS = 8


def likeliest_scales(problem: Problem, pattern: Pattern, *, positive: bool) -> NDArray[np.float64]:
    """Return the scale of least squares of every gradient, shape ``(n,)``: a grid, then Gauss-Newton.

    ``|p - y|`` is at most the root of two, so no scale below ``|a|`` over that can be true.

    Args:
        problem: The factored gradients.
        pattern: The family of the labels.
        positive: Only scales ``t > 0`` are possible.
    """
    least = np.linalg.norm(problem.column, axis=1) / np.sqrt(2)
    best = np.full(len(least), np.inf)
    scales = least.copy()
    for factor in _POSITIVE if positive else np.concatenate([_POSITIVE, -_POSITIVE]):
        cost = _cost(problem, pattern, factor * least)
        scales = np.where(cost < best, factor * least, scales)
        best = np.minimum(cost, best)
    for _ in range(_STEPS):
        step = problem.misfit(scales, pattern).least_squares_step
        step = np.where(np.isfinite(step), np.clip(step, -np.abs(scales) / 4, np.abs(scales) / 4), 0)
        cost = _cost(problem, pattern, scales + step)
        scales = np.where(cost < best, scales + step, scales)
        best = np.minimum(cost, best)
    return np.asarray(scales)


def _cost(problem: Problem, pattern: Pattern, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of squares of what is left; a one-hot label also has to explain its own entry."""
    misfit = problem.misfit(scales, pattern)
    cost = np.einsum("nc,nc->n", misfit.values, misfit.values)
    if not pattern.has_weight:
        at = np.arange(len(scales))
        cost += (scales * (misfit.labels[at, misfit.inside[:, 0]] - 1)) ** 2
    return np.asarray(cost)
