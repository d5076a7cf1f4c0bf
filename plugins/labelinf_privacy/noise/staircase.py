"""Staircase noise: of all epsilon-DP additive noise the least mean error (Geng and Viswanath, 2016, Theorem 1).

Drawn in floats, and therefore without a certificate.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive

__all__ = ["Staircase"]


@attrs.frozen(kw_only=True)
class Staircase(NoiseModel):
    """Piecewise constant density that falls by ``exp(-epsilon)`` every ``sensitivity``.

    Steps are of width ``gamma * sensitivity`` and ``(1 - gamma) * sensitivity`` in turn, with
    ``gamma = 1 / (1 + exp(epsilon / 2))``, the best for the mean absolute error.

    Attributes:
        epsilon: Epsilon of one answer that a record moves by at most ``sensitivity``, more than 0.
        sensitivity: In units of the score, more than 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=positive)
    sensitivity: float = attrs.field(default=0.01, validator=positive)

    @property
    def gamma(self) -> float:
        """Share of a period that the higher step takes."""
        return 1 / (1 + math.exp(self.epsilon / 2))

    @property
    def _lower_share(self) -> float:
        """Probability of the lower step of a period."""
        falling = (1 - self.gamma) * math.exp(-self.epsilon)
        return falling / (self.gamma + falling)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values by Geng and Viswanath's Algorithm 1, shape ``(size,)``."""
        period = rng.geometric(-math.expm1(-self.epsilon), size) - 1
        lower = rng.random(size) < self._lower_share
        within = rng.random(size)
        place = np.where(lower, self.gamma + (1 - self.gamma) * within, self.gamma * within)
        signs = rng.choice([-1.0, 1.0], size)
        return np.asarray(signs * (period + place) * self.sensitivity, dtype=np.float64)

    @property
    def std(self) -> float:
        """From the moments of the period and of the place within it, which are independent."""
        ratio, gamma, lower = math.exp(-self.epsilon), self.gamma, self._lower_share
        period = ratio / (1 - ratio)
        period_squared = ratio * (1 + ratio) / (1 - ratio) ** 2
        place = (1 - lower) * gamma / 2 + lower * (1 + gamma) / 2
        place_squared = ((1 - lower) * gamma**2 + lower * (1 + gamma + gamma**2)) / 3
        return self.sensitivity * math.sqrt(period_squared + 2 * period * place + place_squared)

    def tail(self, delta: float) -> float:
        """Whole periods: ``P(|x| > k sensitivity) = exp(-k epsilon)``."""
        return self.sensitivity * math.ceil(math.log(1 / delta) / self.epsilon)
