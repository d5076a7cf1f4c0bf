"""The Itakura-Saito loss of two classes: ``1 / theta + ln theta - 1`` of the true label's probability theta.

Aggarwal et al., AISTATS 2022, equation 8, with the constant -1 of its appendix: the -2 of the main text would make a
loss that is negative at theta = 1 (erratum A-3). It is a definition, not a case of Lemma 1: the two-component
divergence from a corner is infinite. With ``t = ln((1 - theta) / theta)`` the gap is ``2 sinh t - t``, so gaps grow
exponentially in the logit where those of the log-loss grow linearly.

Example:
    >>> round(ItakuraSaito().span(0.01), 6)
    94.394779
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic
from labelinf_scores.metrics.binary import BinaryLoss
from labelinf_scores.metrics.inverse import probability
from labelinf_scores.metrics.shapes import columns

__all__ = ["ItakuraSaito", "hyperbolic_root"]


@attrs.frozen(kw_only=True)
class ItakuraSaito(BinaryLoss):
    """The Itakura-Saito loss; a true label of probability zero costs infinity."""

    def costs(self, predictions: NDArray[Any], numbers: Arithmetic) -> NDArray[Any]:
        """Return ``1 / theta + ln theta - 1`` of either label's theta, shape ``(n, 2)``."""
        theta = columns(predictions)
        never = np.asarray(theta == 0, dtype=bool)
        safe = np.where(never, numbers.convert(1), theta)
        infinite = -numbers.log(numbers.convert(0))
        return np.asarray(np.where(never, infinite, 1 / safe + numbers.log(safe) - 1))

    def span(self, clip: float) -> float:
        """Return L = 1 / clip - 1 / (1 - clip) - ln((1 - clip) / clip)."""
        return 1 / clip - 1 / (1 - clip) - math.log((1 - clip) / clip) if clip > 0 else math.inf

    def largest(self, clip: float, n_classes: int) -> float:
        """Return ``1 / clip + ln clip - 1``."""
        return 1 / clip + math.log(clip) - 1 if clip > 0 else math.inf

    def prediction(self, gap: Any, numbers: Arithmetic) -> Any:
        """Return the prediction with ``2 sinh t - t = gap``; every gap can be had."""
        gap = numbers.convert(gap)
        t = hyperbolic_root(abs(gap), numbers)
        return probability(np.where(gap >= 0, t, -t), numbers)


def hyperbolic_root(value: Any, numbers: Arithmetic) -> Any:
    """Return t >= 0 with ``2 sinh t - t = value``.

    Newton's method from ``ln(1 + 2 value)``, which is not below the root: on a convex, increasing function it comes
    down to the root without ever passing it, so it stops when rounding keeps it from falling.

    Args:
        value: Not negative; a number or an array.
        numbers: The arithmetic to compute in; its context must be entered.
    """
    t = numbers.log(1 + 2 * value)
    while True:
        up, down = numbers.exp(t), numbers.exp(-t)
        lower = t - (up - down - t - value) / (up + down - 1)
        if not np.any(lower < t):
            return t
        t = np.where(lower < t, lower, t)
