"""Whole weights that are wider than everything before them together, so that every sum names its labels.

A row of weight w adds ``k w`` units to a sum when its label is k. If every weight exceeds ``(K - 1)`` times the sum of
the weights before it, sums are distinct and fall apart digit by digit. The least such weights are ``K**i``: powers of
two (Aggarwal et al., ICML 2021, Algorithm 2; AISTATS 2022, Theorem 1), mixed radix for K classes. Nothing narrower
exists for all sums at a time: K**m sums one unit apart range over ``K**m - 1`` units.

A weight may be *widened* beyond the least, the later ones following. A little costs nothing worth mentioning, and
moves the costs of the rows against the grid of the curator's floats, which is how roundings are avoided.

Example:
    >>> superincreasing(5)
    (1, 2, 4, 8, 16)
    >>> superincreasing(3, n_classes=10)
    (1, 10, 100)
    >>> superincreasing(5, widen=lambda place, least: least + 3 if place == 2 else least)
    (1, 2, 7, 11, 22)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.decoders.digits import digits

__all__ = ["Code", "Superincreasing", "Widen", "least", "superincreasing"]

Widen = Callable[[int, int], int]  #: given a place and the least weight there, returns the weight to take


def least(place: int, weight: int) -> int:
    """Widen nothing."""
    return weight


class Code(Protocol):
    """A family of weights with its decoder."""

    def weights(self, n_rows: int, widen: Widen = least) -> tuple[int, ...]:
        """Return the weights of ``n_rows`` rows, narrowest first."""

    def n_widened(self, n_rows: int) -> int:
        """Return how many of the weights, from the narrowest on, can be widened."""

    def decode(self, weights: tuple[int, ...], totals: Sequence[int]) -> NDArray[np.intp]:
        """Return the labels behind every total, shape ``(len(totals), len(weights))``."""


@attrs.frozen(kw_only=True)
class Superincreasing:
    """Powers of K.

    Attributes:
        n_classes: K, at least 2.
    """

    n_classes: int = attrs.field(default=2, validator=attrs.validators.ge(2))

    def weights(self, n_rows: int, widen: Widen = least) -> tuple[int, ...]:
        """Return :func:`superincreasing`."""
        return superincreasing(n_rows, self.n_classes, widen)

    def n_widened(self, n_rows: int) -> int:
        """Return m: all of them."""
        return n_rows

    def decode(self, weights: tuple[int, ...], totals: Sequence[int]) -> NDArray[np.intp]:
        """Return the digits of every total."""
        return digits(weights, totals, self.n_classes)


def superincreasing(n_rows: int, n_classes: int = 2, widen: Widen = least) -> tuple[int, ...]:
    """Return the least weights with ``w_i > (K - 1) (w_0 + ... + w_(i-1))``, ascending.

    Args:
        n_rows: m.
        n_classes: K.
        widen: What to take instead of the least weight.
    """
    weights: list[int] = []
    below = 0
    for place in range(n_rows):
        weights.append(widen(place, below + 1))
        below += (n_classes - 1) * weights[-1]
    return tuple(weights)
