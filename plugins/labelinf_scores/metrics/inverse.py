"""Finds the prediction whose cost gap is a wanted number, by bisection on the logit.

The gap of a convex loss falls as the probability theta rises, so it rises with ``t = ln((1 - theta) / theta)``. On
that scale a prediction close to 0 is as easy to hit as one near 1/2, in any arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labelinf_scores.arithmetic import Arithmetic

__all__ = ["bisect", "probability"]

_DOUBLINGS = 14  # a logit beyond 2**14 is a probability that no format with a 32-bit exponent needs


def probability(t: Any, numbers: Arithmetic) -> Any:
    """Return ``1 / (1 + e**t)``."""
    return 1 / (1 + numbers.exp(t))


def bisect(gap: Callable[[Any], Any], wanted: Any, numbers: Arithmetic) -> Any:
    """Return theta with ``gap(theta)`` equal to ``wanted``, to the last digit of its logit.

    Args:
        gap: Cost of label 1 minus cost of label 0, of an array of predictions; falls from its largest value at 0 to
            its smallest at 1.
        wanted: Wanted gaps, a number or an array, none beyond the range of ``gap``.
        numbers: The arithmetic to compute in; its context must be entered.
    """
    high = numbers.exp(numbers.convert(np.zeros(np.shape(wanted))))
    for _ in range(_DOUBLINGS):
        inside = (gap(probability(high, numbers)) >= wanted) & (gap(probability(-high, numbers)) <= wanted)
        if np.all(inside):
            break
        high = np.where(inside, high, 2 * high)
    low = -high
    while np.any(1 + (high - low) > 1):
        middle = (low + high) / 2
        if np.all((middle == low) | (middle == high)):
            break
        above = gap(probability(middle, numbers)) >= wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return probability((low + high) / 2, numbers)
