"""Metrics of values: labels are numbers of a grid, a prediction is one number, and both lie in the same range.

The range is public, so what lies outside of it is taken for its end, and no label decides what a score can be. Every
record costs a number between 0 and 1, in units of the largest cost, on the grid of costs: however floats round, one
label moves the sum of N of them by 1 at most.

Example:
    >>> import numpy as np
    >>> mse = Deviation(values=(Fraction(0), Fraction(1), Fraction(5)), power=2)
    >>> mse.score(np.array([0, 2]), np.array([1.0, 3.0]), 3), mse.high, mse.move(2, 3)
    (Fraction(5, 2), Fraction(25, 1), Fraction(25, 2))
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_guard.metrics import GRID, mean_of_costs

__all__ = ["Deviation"]


@attrs.frozen(kw_only=True)
class Deviation:
    """Mean of the distances of predictions and values, or of their squares, or the root of that.

    Attributes:
        values: What the classes stand for, two different ones at least.
        power: 1 or 2.
        root: Whether the root of the mean is told; ``power`` is 2 then.
    """

    classes_predicted: ClassVar[bool] = False
    minimise: ClassVar[bool] = True
    low: ClassVar[Fraction] = Fraction(0)

    values: tuple[Fraction, ...]
    power: int
    root: bool = False

    @property
    def high(self) -> Fraction:
        """From one end of the range to the other."""
        span = max(self.values) - min(self.values)
        return span if self.root else span**self.power

    def score(self, labels: NDArray[np.intp], rows: NDArray[Any], n_classes: int) -> Fraction:
        """Costs on a grid, added as integers; a root is rounded down to that grid."""
        least, most = float(min(self.values)), float(max(self.values))
        own = np.array([float(value) for value in self.values])[labels]
        away = np.clip(np.abs(np.clip(rows, least, most) - own) / (most - least), 0, 1)
        mean = mean_of_costs(away**self.power)
        if self.root:
            mean = Fraction(math.isqrt(mean.numerator * GRID * GRID // mean.denominator), GRID)
        return mean * self.high

    def move(self, n: int, n_classes: int) -> Fraction:
        """``1 / n`` of the largest cost; of a root ``1 / sqrt(n)``, as roots differ by the root of a difference."""
        share = Fraction(math.isqrt(GRID * GRID // n) + 2, GRID) if self.root else Fraction(1, n)
        return share * self.high
