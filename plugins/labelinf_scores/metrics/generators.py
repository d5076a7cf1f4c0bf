"""Convex functions on [0, 1] that generate Bregman losses, each with its derivative.

A generator is called as ``phi(x, numbers)`` with an array x of the arithmetic ``numbers``; so is its derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labelinf_scores.arithmetic import Arithmetic

__all__ = ["GENERATORS", "Function"]

Function = Callable[[Any, "Arithmetic"], Any]


def _x_log_x(x: Any, numbers: Arithmetic) -> Any:
    return x * numbers.log(np.where(np.asarray(x == 0, dtype=bool), numbers.convert(1), x))


GENERATORS: dict[str, tuple[Function, Function]] = {
    "square": (lambda x, _: x**2, lambda x, _: 2 * x),
    "entropy": (
        lambda x, numbers: _x_log_x(x, numbers) + _x_log_x(1 - x, numbers),
        lambda x, numbers: numbers.log(x) - numbers.log(1 - x),
    ),
}  #: the generators with a name: squared error, and the log-loss as a Bregman divergence
