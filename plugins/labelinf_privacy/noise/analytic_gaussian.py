"""Gaussian noise of the least scale that is (epsilon, delta)-DP in real numbers (Balle and Wang, ICML 2018, Theorem 8).

Drawn in floats, and therefore without a certificate.
"""

from __future__ import annotations

import functools

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive
from labelinf_core.statistics.profiles import gaussian_mu
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["AnalyticGaussian"]


@attrs.frozen(kw_only=True, slots=False)
class AnalyticGaussian(NoiseModel):
    """Normal noise calibrated to (epsilon, delta)-DP of one answer that a record can move by ``sensitivity``.

    Attributes:
        epsilon: Epsilon of one answer, more than 0.
        delta: Delta of one answer, in (0, 1).
        sensitivity: In units of the score, more than 0: L / N for a mean of N costs with span L.
    """

    epsilon: float = attrs.field(default=1.0, validator=positive)
    delta: float = attrs.field(default=1e-6, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    sensitivity: float = attrs.field(default=0.01, validator=positive)

    @functools.cached_property
    def gaussian(self) -> Gaussian:
        """The noise itself."""
        return Gaussian(scale=self.sensitivity / gaussian_mu(self.epsilon, self.delta))

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return self.gaussian.sample(rng, size)

    @property
    def std(self) -> float:
        """The calibrated scale."""
        return self.gaussian.scale

    def tail(self, delta: float) -> float:
        """Exactly the quantile."""
        return self.gaussian.tail(delta)
