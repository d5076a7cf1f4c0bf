"""The interval of scales that give a label without negative entries: what an attacker without a prior learns.

``{t > 0 : y(t) >= 0}`` is the intersection of ``{tau p_i >= a_i}`` over the entries with ``a_i > 0``. Each is where a
log-concave function is above a level, so the intersection is an interval, and the minimum of those functions is
concave: the same monotone Newton iteration finds both ends (labelinf theory, the feasible set; the interval of Wang
et al., ICLR 2024, Fig. 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["feasible_interval"]

_ITERATIONS = 200
_EDGE = 1e-12


def feasible_interval(
    column: NDArray[np.float64], slopes: NDArray[np.float64], offsets: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the feasible scales ``t > 0``; for ``t < 0`` negate ``column`` and ``slopes``.

    Args:
        column: ``a``, shape ``(n, C)``.
        slopes: ``W v``, shape ``(n, C)``.
        offsets: Known biases of the logits, shape ``(C,)``.

    Returns:
        Lower and upper ends, shape ``(n,)`` each: NaN where no scale is feasible; the upper end may be infinite.
    """
    bias = np.zeros(column.shape[1]) if offsets is None else np.asarray(offsets, dtype=float)
    level = np.log(np.where(column > 0, column, np.nan))
    low = np.where(np.isfinite(level).any(axis=1), np.maximum(column.max(axis=1), 0), np.nan)
    high = _right_ends(level, slopes, bias)
    return _run(low, level, slopes, bias, +1), _run(high, level, slopes, bias, -1)


def _right_ends(
    level: NDArray[np.float64], slopes: NDArray[np.float64], bias: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a scale beyond which some entry is negative: infinity where there is none, NaN where no scale will do."""
    top = slopes.argmax(axis=1)
    drop = slopes.max(axis=1, keepdims=True) - slopes
    lead = bias[top][:, None] - bias
    with np.errstate(divide="ignore", invalid="ignore"):
        u = -np.log(drop) - level - lead - 1
        ends = np.where(drop > 0, (1 + np.sqrt(2 * u) + u) / drop, np.inf)
    nowhere = ((u < 0) & (drop > 0)).any(axis=1)
    ends = np.where(np.isnan(level), np.inf, ends).min(axis=1)
    return np.where(nowhere, np.nan, ends)


def _run(
    start: NDArray[np.float64],
    level: NDArray[np.float64],
    slopes: NDArray[np.float64],
    bias: NDArray[np.float64],
    direction: int,
) -> NDArray[np.float64]:
    tau, live = start.copy(), np.flatnonzero(np.isfinite(start))
    for _ in range(_ITERATIONS):
        if not len(live):
            break
        value, slope = _lowest(tau[live], level[live], slopes[live], bias)
        reached = value >= -_EDGE
        lost = ~reached & (direction * slope <= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(reached | lost, 0, -value / slope)
        tau[live] += step
        tau[live[lost]] = np.nan
        live = live[(np.abs(step) > 1e-15 * tau[live])]
    return tau


def _lowest(
    tau: NDArray[np.float64], level: NDArray[np.float64], slopes: NDArray[np.float64], bias: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest of the concave functions, and its derivative."""
    logits = tau[:, None] * slopes + bias
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=1, keepdims=True)
    values = np.log(tau)[:, None] + logits - np.log(total) - level
    active = np.nanargmin(values, axis=1)
    at = np.arange(len(tau))
    mean = (weights * slopes).sum(axis=1) / total[:, 0]
    return values[at, active], 1 / tau + slopes[at, active] - mean
