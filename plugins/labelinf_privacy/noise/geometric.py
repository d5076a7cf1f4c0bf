"""Two-sided geometric noise, the discrete Laplace: pure DP for scores on a grid, and optimal for counts.

(Ghosh, Roughgarden and Sundararajan, STOC 2009.) Its support is the grid: on scores that are not, it protects nothing.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_privacy.noise.private import PrivateNoise

__all__ = ["Geometric"]


@attrs.frozen(kw_only=True)
class Geometric(PrivateNoise):
    """``step`` times an integer k with probability proportional to ``exp(-|k| step / scale)``.

    The guarantee needs scores that are multiples of ``step``: round them first.

    Attributes:
        scale: In units of the score, more than 0; epsilon is sensitivity / scale.
        step: Of the grid, in units of the score, more than 0.
    """

    scale: float = attrs.field(default=0.01, validator=attrs.validators.gt(0))
    step: float = attrs.field(default=1e-5, validator=attrs.validators.gt(0))

    @property
    def grid(self) -> float:
        """The step."""
        return self.step

    @property
    def _success(self) -> float:
        return -math.expm1(-self.step / self.scale)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, each a difference of two geometric ones, shape ``(size,)``."""
        return self.step * (rng.geometric(self._success, size) - rng.geometric(self._success, size)).astype(np.float64)

    @property
    def bound(self) -> float:
        """Unbounded."""
        return math.inf

    @property
    def std(self) -> float:
        """``step sqrt(2 r) / (1 - r)`` with ``r = exp(-step / scale)``."""
        return self.step * math.sqrt(2 * (1 - self._success)) / self._success

    def tail(self, delta: float) -> float:
        """From ``P(|k| >= j) = 2 r**j / (1 + r)``."""
        beyond = math.log(2 / ((2 - self._success) * delta)) * self.scale / self.step
        return self.step * max(0, math.ceil(beyond) - 1)

    def pure_epsilon(self, sensitivity: float) -> float:
        """``sensitivity / scale``, for scores on the grid."""
        return sensitivity / self.scale
