"""Convex functions on [0, 1] that generate Bregman losses, each with its derivative.

A generator is called as ``phi(x, numbers)`` with an array x of the arithmetic ``numbers``; so is its derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from labelinf_scores.arithmetic import Arithmetic

__all__ = ["GENERATORS", "Function"]

Function = Callable[[Any, "Arithmetic"], Any]


def _square(x: Any, numbers: Arithmetic) -> Any:
    return x**2


def _square_slope(x: Any, numbers: Arithmetic) -> Any:
    return 2 * x


def _entropy(x: Any, numbers: Arithmetic) -> Any:
    return _x_log_x(x, numbers) + _x_log_x(1 - x, numbers)


def _entropy_slope(x: Any, numbers: Arithmetic) -> Any:
    return numbers.log(x) - numbers.log(1 - x)


def _x_log_x(x: Any, numbers: Arithmetic) -> Any:
    return x * numbers.log(np.where(np.asarray(x == 0, dtype=bool), numbers.convert(1), x))


GENERATORS: dict[str, tuple[Function, Function]] = {
    "square": (_square, _square_slope),
    "entropy": (_entropy, _entropy_slope),
}  #: the generators with a name: squared error, and the log-loss as a Bregman divergence
