"""Particle swarm optimisation in one box of one dimension, with the constants the paper's code leaves at default."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["swarm"]

_INERTIA, _OWN, _SHARED = 0.8, 0.5, 0.5


def swarm(
    loss: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    low: float,
    high: float,
    rng: np.random.Generator,
    *,
    population: int = 500,
    iterations: int = 40,
) -> tuple[float, float]:
    """Return the best point found between ``low`` and ``high`` and its loss (Kennedy and Eberhart, 1995)."""
    at = rng.uniform(low, high, population)
    speed = rng.uniform(low - high, high - low, population)
    own, own_loss = at.copy(), loss(at)
    for _ in range(iterations):
        best = own[own_loss.argmin()]
        pulls = rng.random((2, population))
        speed = _INERTIA * speed + _OWN * pulls[0] * (own - at) + _SHARED * pulls[1] * (best - at)
        at = np.clip(at + speed, low, high)
        now = loss(at)
        better = now < own_loss
        own[better], own_loss[better] = at[better], now[better]
    winner = own_loss.argmin()
    return float(own[winner]), float(own_loss[winner])
