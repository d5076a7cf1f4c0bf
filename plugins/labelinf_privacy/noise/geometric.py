"""Two-sided geometric noise, the discrete Laplace: pure DP on a grid, and optimal for counts.

(Ghosh, Roughgarden and Sundararajan, STOC 2009.) One answer moved by one step gives away a little more than Laplace
noise rounded to the same grid does: ``tanh(r / 2)`` against ``1 - exp(-r / 2)`` in total variation, with r the epsilon
of a step. So its own lattice is what composes here: :class:`~labelinf_privacy.laplace_product.LaplaceProduct` with
``moved`` steps.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.gate import positive
from labelinf_core.statistics.profiles import Profile
from labelinf_privacy.deviates import exponential
from labelinf_privacy.laplace_product import LaplaceProduct
from labelinf_privacy.noise.grid import GridNoise, rounded_up
from labelinf_privacy.words import Words

__all__ = ["Geometric"]


@attrs.frozen(kw_only=True)
class Geometric(GridNoise):
    """``step`` times an integer k with probability proportional to ``exp(-|k| step / scale)``.

    Attributes:
        scale: In units of what is released, more than 0; epsilon is what one record moves it by, over the scale.
        step: Of the grid, more than 0.

    Guarantees:
        Pure DP, and the exact product of its own pairs, for what :meth:`release` returns
        (``tests/privacy/test_grid_noise.py``).
    """

    scale: float = attrs.field(default=0.01, validator=positive)
    step: float = attrs.field(default=1e-5, validator=positive)

    def steps(self, source: Words, size: int) -> NDArray[np.int64]:
        """Draw ``size`` integers, each the difference of two geometric ones."""
        # An exponential deviate rounded down is a geometric integer.
        down = exponential(source, 2 * size).rounded(self.steps_per_scale(), source, offset=Fraction(0))
        return down[:size] - down[size:]

    def epsilon_for(self, moved: Fraction | int) -> float:
        """``moved step / scale``."""
        return rounded_up(moved / self.steps_per_scale())

    def privacy(self, moved: Fraction | int, queries: int = 1) -> Profile:
        """The product of its own pairs."""
        return LaplaceProduct(epsilon=self.epsilon_for(moved), queries=queries, moved=math.ceil(moved))

    @property
    def _success(self) -> float:
        return -math.expm1(-self.step / self.scale)

    @property
    def std(self) -> float:
        """``step sqrt(2 r) / (1 - r)`` with ``r = exp(-step / scale)``."""
        return self.step * math.sqrt(2 * (1 - self._success)) / self._success

    def tail(self, delta: float) -> float:
        """From ``P(|k| >= j) = 2 r**j / (1 + r)``."""
        beyond = math.log(2 / ((2 - self._success) * delta)) * self.scale / self.step
        return self.step * max(0, math.ceil(beyond) - 1)
