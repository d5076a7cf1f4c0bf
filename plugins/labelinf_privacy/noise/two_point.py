"""Noise of constant size and random sign: the hardest bounded noise to survive once, and the easiest to see through.

Its size is known, so a few answers to one query show both possible scores; bounded noise is the wrong noise.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel

__all__ = ["TwoPoint"]


@attrs.frozen(kw_only=True)
class TwoPoint(NoiseModel):
    """``tau`` or ``-tau``, each with probability one half.

    Attributes:
        tau: Absolute value, in units of the score, at least 0.
    """

    tau: float = attrs.field(default=0.01, validator=attrs.validators.ge(0))

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return np.where(rng.random(size) < 0.5, -self.tau, self.tau)

    @property
    def bound(self) -> float:
        """Tau."""
        return self.tau

    @property
    def std(self) -> float:
        """Tau."""
        return self.tau

    def tail(self, delta: float) -> float:
        """Tau, whatever ``delta``."""
        return self.tau
