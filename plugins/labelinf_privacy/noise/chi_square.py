"""Centred chi-square noise: the example of sub-exponential noise in ICML 2021, Appendix B.4.

There ``Z**2`` is called subE(2, 4). It must be centred, and its variance proxy is 4: ``Z**2 - 1`` is subE(4, 4), as
``-s - ln(1 - 2s) / 2 <= 2 s**2`` for ``|s| <= 1/4`` (erratum I-17).
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive
from labelinf_privacy.noise.sub_exponential import threshold

__all__ = ["ChiSquare"]


@attrs.frozen(kw_only=True)
class ChiSquare(NoiseModel):
    """``scale * (X - degrees)`` with X chi-square: subE(4 degrees scale^2, 4 scale).

    Attributes:
        degrees: Degrees of freedom, at least 1.
        scale: In units of the score, more than 0.
    """

    degrees: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    scale: float = attrs.field(default=0.01, validator=positive)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return self.scale * (rng.chisquare(self.degrees, size) - self.degrees)

    @property
    def std(self) -> float:
        """``scale * sqrt(2 degrees)``."""
        return self.scale * math.sqrt(2 * self.degrees)

    def tail(self, delta: float) -> float:
        """The repaired threshold of ICML 2021, Theorem 10."""
        return threshold(4 * self.degrees * self.scale**2, 4 * self.scale, delta)
