"""The Bregman loss of any convex generator, through the corrected Lemma 1.

Let ``phi`` be convex and differentiable on [0, 1]. A prediction theta costs the divergence of the true label y from
it, ``phi(y) - phi(theta) - phi'(theta) (y - theta)``. The part that depends on y is linear in it, so every such loss
adds up over the records, with gap

    d(theta) = phi(1) - phi(0) - phi'(theta)

(Aggarwal et al., AISTATS 2022, Lemma 1, where ``phi(x) = F([x, 1 - x])``. The printed proof takes the gradient at the
*label* instead of at the prediction, which computes minus the divergence with its arguments exchanged: erratum A-4.)

Example:
    >>> from labelinf_scores.arithmetic import make_arithmetic
    >>> round(float(Bregman(generator="square").prediction(0.5, make_arithmetic("float64"))), 9)
    0.25
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic, make_arithmetic
from labelinf_scores.metrics.binary import BinaryLoss
from labelinf_scores.metrics.generators import GENERATORS, Function
from labelinf_scores.metrics.inverse import bisect
from labelinf_scores.metrics.shapes import columns

__all__ = ["Bregman"]


@attrs.frozen(kw_only=True)
class Bregman(BinaryLoss):
    """The Bregman divergence of the true label from the prediction.

    Attributes:
        generator: ``square``, ``entropy``, or ``module:function`` called as ``phi(x, numbers)``, where ``numbers`` is
            the arithmetic (its ``log`` and ``exp`` serve every number format). Convex on [0, 1], finite at 0 and 1.
        derivative: ``module:function`` of the derivative; only and always beside a generator of one's own.
    """

    generator: str = "square"
    derivative: str = ""

    def __attrs_post_init__(self) -> None:
        if ":" not in self.generator and self.generator not in GENERATORS:
            raise ValueError(f"generator={self.generator!r} must be {', '.join(GENERATORS)} or module:function")
        if (":" in self.generator) != (":" in self.derivative):
            raise ValueError(
                f"derivative={self.derivative!r} must be module:function beside a generator of one's own, "
                f"and empty beside a named one"
            )
        self._functions()

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return the divergence of either label from every row, shape ``(n, 2)``."""
        phi, slope = self._functions()
        # Of rows that do not sum to one, each label sees its own column, as in the other binary losses.
        low, high = 1 - columns(predictions)[:, 0], columns(predictions)[:, 1]
        zero, one = numbers.convert(0), numbers.convert(1)
        cost_0 = phi(zero, numbers) - phi(low, numbers) + _weighted(low, slope(low, numbers))
        cost_1 = phi(one, numbers) - phi(high, numbers) - _weighted(1 - high, slope(high, numbers))
        return np.stack([cost_0, cost_1], axis=1)

    def span(self, clip: float) -> float:
        """Return L = max abs(d(clip)), abs(d(1 - clip)), since the gap is monotone; computed in doubles."""
        numbers = make_arithmetic("float64")
        with numbers.context():
            ends = abs(self._gap(numbers.convert([clip, 1 - clip]), numbers))
        return float(ends.max())

    def largest(self, clip: float, n_classes: int) -> float:
        """Return the larger cost of either label at an end of the clip; a user's generator says nothing."""
        if self.foreign:
            return math.inf
        return (1 - clip) ** 2 if self.generator == "square" else -math.log(clip) if clip > 0 else math.inf

    @property
    def foreign(self) -> bool:
        """Whether it carries a user's function: then nothing is proved of it."""
        return self.generator not in GENERATORS

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return the theta with the wanted gap, by bisection.

        Raises:
            ValueError: No prediction has such a gap.
        """
        gap = numbers.convert(gap)
        highest, lowest = self._gap(numbers.convert([0, 1]), numbers)
        if not np.all((lowest <= gap) & (gap <= highest)):
            raise ValueError(f"the Bregman loss of {self.generator!r} has gaps from {lowest:g} to {highest:g} only.")
        return bisect(lambda theta: self._gap(theta, numbers), gap, numbers)

    def _gap(self, theta: Any, numbers: Arithmetic) -> Any:
        phi, slope = self._functions()
        return phi(numbers.convert(1), numbers) - phi(numbers.convert(0), numbers) - slope(theta, numbers)

    def _functions(self) -> tuple[Function, Function]:
        if self.generator in GENERATORS:
            return GENERATORS[self.generator]
        from labelinf_core.specs.own_code import watched_function  # of a user's own generator alone

        return watched_function(self.generator, "generator"), watched_function(self.derivative, "derivative")


def _weighted(weight: Any, slope: Any) -> Any:
    """Return the product, which is zero where the weight is, even if the slope is infinite there."""
    return np.where(np.asarray(weight == 0, dtype=bool), weight, weight * slope)
