"""Laplace noise rounded to a grid: the Laplace mechanism on whole numbers of steps, rounded.

Integer noise ``round(Lap(b))`` added to an integer is ``round(integer + Lap(b))``: post-processing, so that q answers
are at most what q answers of the real mechanism are, and its exact product holds
(:class:`~labelinf_privacy.laplace_product.LaplaceProduct`). Two-sided geometric noise of the same scale is *not*
below that product; see :class:`~labelinf_privacy.noise.geometric.Geometric`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.gate import positive
from labelinf_core.statistics.profiles import Profile
from labelinf_privacy.deviates import exponential, signs
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_privacy.noise.grid import GridNoise, rounded_up
from labelinf_privacy.words import Words

__all__ = ["GridLaplace"]


@attrs.frozen(kw_only=True)
class GridLaplace(GridNoise):
    """``step`` times the integer nearest to Laplace noise of scale ``scale / step``.

    Attributes:
        scale: b, in units of what is released, more than 0.
        step: Of the grid, more than 0. Well below the distance that one record moves the value, or rounding costs more
            than noise.

    Guarantees:
        Pure DP, and the exact product of Laplace pairs over q answers, for what :meth:`release` returns
        (``tests/privacy/test_grid_noise.py``).
    """

    scale: float = attrs.field(default=0.01, validator=positive)
    step: float = attrs.field(default=2.0**-16, validator=positive)

    def steps(self, source: Words, size: int) -> NDArray[np.int64]:
        """Draw ``size`` rounded Laplace integers."""
        return signs(source, size) * exponential(source, size).rounded(self.steps_per_scale(), source)

    def epsilon_for(self, moved: Fraction | int) -> float:
        """``moved step / scale``."""
        return rounded_up(moved / self.steps_per_scale())

    def privacy(self, moved: Fraction | int, queries: int = 1) -> Profile:
        """The product of Laplace pairs."""
        return LaplaceProduct(epsilon=self.epsilon_for(moved), queries=queries)

    @property
    def std(self) -> float:
        """From ``P(k) = sinh(r / 2) exp(-r |k|)`` with ``r = step / scale``, the probability of 0 aside."""
        rate = self.step / self.scale
        ratio = math.exp(-rate)
        return self.step * math.sqrt(2 * math.sinh(rate / 2) * ratio * (1 + ratio) / -(math.expm1(-rate) ** 3))

    def tail(self, delta: float) -> float:
        """That of Laplace noise, and half a step."""
        return self.scale * math.log(1 / delta) + self.step / 2
