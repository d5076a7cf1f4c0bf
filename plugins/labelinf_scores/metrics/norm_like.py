"""The norm-like loss of order alpha: the Bregman divergence of ``x**alpha + (1 - x)**alpha`` from the true label.

A label of predicted probability theta costs ``1 + (alpha - 1) (theta**alpha + (1 - theta)**alpha) - alpha
theta**(alpha - 1)`` (Aggarwal et al., AISTATS 2022, equation 11). Its gaps
``alpha ((1 - theta)**(alpha - 1) - theta**(alpha - 1))`` lie within alpha.

Example:
    >>> round(NormLike(alpha=3.0).span(0.01), 6)
    2.94
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.binary import BinaryLoss
from labelinf_scores.metrics.inverse import bisect
from labelinf_scores.metrics.shapes import columns

__all__ = ["NormLike"]


@attrs.frozen(kw_only=True)
class NormLike(BinaryLoss):
    """The norm-like divergence.

    Attributes:
        alpha: Order, above 1; 2 is twice the squared Euclidean loss.
    """

    alpha: float = attrs.field(default=3.0, validator=attrs.validators.gt(1))

    @property
    def _power(self) -> float:
        """Alpha - 1; an int when it is whole, so that powers of rationals stay rational."""
        return int(self.alpha) - 1 if self.alpha == int(self.alpha) else self.alpha - 1

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return the divergence of every row from either label, shape ``(n, 2)``."""
        theta = columns(predictions)
        alpha = self._power + 1
        both = theta**alpha + (1 - theta) ** alpha
        return np.asarray(1 + self._power * both - alpha * theta**self._power)

    def span(self, clip: float) -> float:
        """Return L = alpha ((1 - clip)**(alpha - 1) - clip**(alpha - 1))."""
        return float(self._gap(clip))

    def largest(self, clip: float, n_classes: int) -> float:
        """Return the cost of a label that the clip leaves least."""
        both = clip**self.alpha + (1 - clip) ** self.alpha
        return float(1 + self._power * both - self.alpha * clip**self._power)

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return the theta with the wanted gap, by bisection.

        Raises:
            ValueError: A gap exceeds alpha.
        """
        gap = numbers.convert(gap)
        if not np.all(abs(gap) <= self.alpha):
            raise ValueError(f"the norm-like loss of order {self.alpha:g} has no prediction with a gap beyond it.")
        return bisect(self._gap, gap, numbers)

    def _gap(self, theta: Any) -> Any:
        return (self._power + 1) * ((1 - theta) ** self._power - theta**self._power)
