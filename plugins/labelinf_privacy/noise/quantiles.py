"""Noise of any distribution, known by its quantiles: how large it is but for a small probability.

To survive noise with distribution function F, survive ``max(|F^-1(delta/4)|, |F^-1(1 - delta/4)|)`` (Aggarwal et al.,
ICML 2021, Theorem 9). The noise then stays within with probability at least ``1 - delta/2``; the proof prints
``delta/2`` for it (erratum I-16). Quantiles at ``delta/2`` are enough for a failure probability of ``delta``.

Example:
    >>> from statistics import NormalDist
    >>> round(robustness_needed(NormalDist().inv_cdf, 0.1), 6)
    1.959964
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel

__all__ = ["Quantiles", "central_bound", "robustness_needed"]


def central_bound(quantile: Callable[[float], float], delta: float) -> float:
    """Return a tau with ``P(|noise| > tau) <= delta``: half of delta is left to each side.

    Args:
        quantile: ``F^-1``, with ``F^-1(p) = inf {x : F(x) >= p}``.
        delta: In (0, 1).
    """
    return max(abs(quantile(delta / 2)), abs(quantile(1 - delta / 2)))


def robustness_needed(quantile: Callable[[float], float], delta: float) -> float:
    """Return the tau of ICML 2021, Theorem 9: noise exceeds it with probability at most ``delta / 2``."""
    return central_bound(quantile, delta / 2)


@attrs.frozen(kw_only=True)
class Quantiles(NoiseModel):
    """A distribution given by points of its quantile function, which is linear between them.

    Attributes:
        levels: Probabilities, ascending from 0 to 1.
        values: The quantile at each level, in units of the score, not descending.
    """

    levels: tuple[float, ...] = attrs.field(default=(0.0, 0.5, 1.0), converter=tuple)
    values: tuple[float, ...] = attrs.field(default=(-0.01, 0.0, 0.01), converter=tuple)

    @levels.validator
    def _ascend(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        if len(value) < 2 or value[0] != 0 or value[-1] != 1 or any(np.diff(value) <= 0):
            raise ValueError(f"levels={list(value)} must ascend from 0 to 1")

    @values.validator
    def _match(self, attribute: attrs.Attribute[tuple[float, ...]], value: tuple[float, ...]) -> None:
        if len(value) != len(self.levels) or any(np.diff(value) < 0) or not np.isfinite(value).all():
            raise ValueError(f"values={list(value)} must be {len(self.levels)} finite numbers that do not descend")

    def quantile(self, level: float) -> float:
        """Return ``F^-1(level)``."""
        return float(np.interp(level, self.levels, self.values))

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values by inversion, shape ``(size,)``."""
        return np.interp(rng.random(size), self.levels, self.values)

    @property
    def bound(self) -> float:
        """The larger end of the support."""
        return max(abs(self.values[0]), abs(self.values[-1]))

    @property
    def std(self) -> float:
        """From the moments of the pieces, each uniform."""
        low, high, weight = np.array(self.values[:-1]), np.array(self.values[1:]), np.diff(self.levels)
        mean = weight @ (low + high) / 2
        return math.sqrt(max(0.0, weight @ (low**2 + low * high + high**2) / 3 - mean**2))

    def tail(self, delta: float) -> float:
        """From the quantiles at ``delta / 2`` and ``1 - delta / 2``."""
        return central_bound(self.quantile, delta)
