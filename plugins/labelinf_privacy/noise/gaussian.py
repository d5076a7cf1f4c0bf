"""Gaussian noise as NumPy draws it: mu-Gaussian DP on paper, with mu = sensitivity / std, and no certificate in floats.

The low bits of a sum of doubles tell more than its value. What is certified is
:class:`~labelinf_privacy.noise.grid_gaussian.GridGaussian`.
"""

from __future__ import annotations

from statistics import NormalDist

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive

__all__ = ["Gaussian"]


@attrs.frozen(kw_only=True)
class Gaussian(NoiseModel):
    """Normal with mean 0.

    Attributes:
        scale: Standard deviation s, in units of the score, more than 0.
    """

    scale: float = attrs.field(default=0.01, validator=positive)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return rng.normal(0.0, self.scale, size)

    @property
    def std(self) -> float:
        """The scale itself."""
        return self.scale

    def tail(self, delta: float) -> float:
        """``-scale * Phi^-1(delta / 2)``, exactly the quantile."""
        return -self.scale * NormalDist().inv_cdf(delta / 2)
