"""Gaussian noise rounded to a grid: the Gaussian mechanism on whole numbers of steps, rounded.

Integer noise ``round(N(0, s**2))`` added to an integer is ``round(integer + N(0, s**2))``: post-processing, so that it
is exactly mu-Gaussian DP, in every dimension and composed over adaptive answers (Dong, Roth and Su, JRSS B 2022,
Corollary 3.3). The *discrete* Gaussian (weights ``exp(-k**2 / 2 s**2)``) is not below that curve: with s one step, one
answer moved by one step is guessed with .69947, where ``Phi(1/2)`` is .69146.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.gate import positive
from labelinf_core.statistics.profiles import GaussianProfile, Profile
from labelinf_privacy.deviates import normal, signs
from labelinf_privacy.noise.grid import GridNoise, root_up, rounded_up
from labelinf_privacy.words import Words

__all__ = ["GridGaussian"]


@attrs.frozen(kw_only=True)
class GridGaussian(GridNoise):
    """``step`` times the integer nearest to normal noise of deviation ``scale / step``.

    Attributes:
        scale: Standard deviation s before rounding, in units of what is released, more than 0.
        step: Of the grid, more than 0. Well below the distance that one record moves the value, or rounding costs more
            than noise.

    Guarantees:
        Gaussian DP with ``mu = moved / (scale / step)``, distances of vectors in the L2 norm, for what :meth:`release`
        returns (``tests/privacy/test_grid_noise.py``).
    """

    norm: ClassVar[int] = 2
    scale: float = attrs.field(default=0.01, validator=positive)
    step: float = attrs.field(default=2.0**-16, validator=positive)

    def steps(self, source: Words, size: int) -> NDArray[np.int64]:
        """Draw ``size`` rounded normal integers."""
        return signs(source, size) * normal(source, size).rounded(self.steps_per_scale(), source)

    def mu_for(self, moved: Fraction | int) -> float:
        """``moved step / scale``."""
        return rounded_up(moved / self.steps_per_scale())

    def privacy(self, moved: Fraction | int, queries: int = 1) -> Profile:
        """``mu sqrt(queries)``-Gaussian DP."""
        return GaussianProfile(rounded_up(moved / self.steps_per_scale() * root_up(queries)))

    @property
    def std(self) -> float:
        """From the probabilities of the integers while the grid is coarse, ``s**2 + step**2 / 12`` beyond."""
        if self.scale >= 3 * self.step:  # off by exp(-2 pi**2 9) at most
            return math.hypot(self.scale, self.step / math.sqrt(12))
        unit = NormalDist(0, self.scale / self.step)
        square = math.fsum(2 * (2 * k - 1) * unit.cdf(0.5 - k) for k in range(40, 0, -1))
        return self.step * math.sqrt(square)

    def tail(self, delta: float) -> float:
        """The quantile, and half a step."""
        return -self.scale * NormalDist().inv_cdf(delta / 2) + self.step / 2
