"""Bounded noise, uniform on an interval: what the papers' robust attacks are made for.

It certifies nothing under repetition: enough queries average it out, and its hard edge gives answers away sooner
still.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel

__all__ = ["Uniform"]


@attrs.frozen(kw_only=True)
class Uniform(NoiseModel):
    """Uniform on ``[-tau, tau]`` (Aggarwal et al., ICML 2021, Definition 4).

    Attributes:
        tau: Largest absolute value, in units of the score, at least 0.
    """

    tau: float = attrs.field(default=0.01, validator=attrs.validators.ge(0))

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return rng.uniform(-self.tau, self.tau, size)

    @property
    def bound(self) -> float:
        """Tau."""
        return self.tau

    @property
    def std(self) -> float:
        """``tau / sqrt(3)``."""
        return self.tau / math.sqrt(3)

    def tail(self, delta: float) -> float:
        """``tau (1 - delta)``, exactly the quantile."""
        return self.tau * (1 - delta)
