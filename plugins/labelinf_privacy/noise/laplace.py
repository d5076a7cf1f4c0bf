"""Laplace noise as NumPy draws it: pure DP on paper, with epsilon = sensitivity / scale, and none in floats.

One answer can name the score by its low bits (Mironov, CCS 2012): no certificate. What is certified is
:class:`~labelinf_privacy.noise.grid_laplace.GridLaplace`.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive

__all__ = ["Laplace"]


@attrs.frozen(kw_only=True)
class Laplace(NoiseModel):
    """Density ``exp(-|x| / scale) / (2 scale)``.

    Attributes:
        scale: b, in units of the score, more than 0.
    """

    scale: float = attrs.field(default=0.01, validator=positive)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return rng.laplace(0.0, self.scale, size)

    @property
    def std(self) -> float:
        """``scale * sqrt(2)``."""
        return self.scale * math.sqrt(2)

    def tail(self, delta: float) -> float:
        """``scale ln(1 / delta)``, exactly the quantile."""
        return self.scale * math.log(1 / delta)
