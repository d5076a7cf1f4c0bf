"""The discrete Gaussian: integers k with probability proportional to ``exp(-k**2 / 2 sigma**2)``, drawn exactly.

Canonne, Kamath and Steinke (NeurIPS 2020), Algorithms 1 to 3: every decision compares whole numbers with a uniform
integer, so that no float is near what is released, and no logarithm or root is rounded. Moved by whole steps, ``q``
adaptive answers are exactly ``q moved**2 / 2 sigma**2``-concentrated DP (Theorem 4); the usual ``Phi(mu / 2)`` is *not*
an upper bound of what one answer tells, which is a sum over the lattice.

Example:
    >>> from labelinf_privacy.words import SeededWords
    >>> source = SeededWords(np.random.default_rng(1))
    >>> [discrete_gaussian(Fraction(9), source) for _ in range(6)]
    [-3, 3, 0, 4, -5, 1]
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive
from labelinf_privacy.noise.grid import decimal
from labelinf_privacy.words import SeededWords, Words

__all__ = ["DiscreteGaussian", "discrete_gaussian"]

_BITS = 64


def discrete_gaussian(variance: Fraction, source: Words) -> int:
    """Draw one integer (Algorithm 3): a discrete Laplace variable, kept as often as turns it into a Gaussian one.

    Args:
        variance: ``sigma**2``, more than 0; a rational number.
        source: Of the words.
    """
    width = math.isqrt(math.floor(variance)) + 1
    while True:
        drawn = _laplace(width, source)
        if _decays((abs(drawn) - variance / width) ** 2 / (2 * variance), source):
            return drawn


def _laplace(width: int, source: Words) -> int:
    """Draw an integer k with probability proportional to ``exp(-|k| / width)`` (Algorithm 2)."""
    while True:
        rest = _below(width, source)
        if not _decays(Fraction(rest, width), source):
            continue
        whole = 0
        while _decays(Fraction(1), source):
            whole += 1
        size, negative = rest + width * whole, _below(2, source)
        if size or not negative:  # zero has one sign
            return -size if negative else size


def _decays(rate: Fraction, source: Words) -> bool:
    """Draw Bernoulli ``exp(-rate)`` (Algorithm 1): the successes before the first failure are even in number."""
    while rate > 1:
        if not _decays(Fraction(1), source):
            return False
        rate -= 1
    k = 1
    while _below(rate.denominator * k, source) < rate.numerator:
        k += 1
    return k % 2 == 1


def _below(limit: int, source: Words) -> int:
    """Draw an integer of 0 .. limit - 1, each as likely, by rejection."""
    bits = (limit - 1).bit_length()
    count = -(-bits // _BITS)
    while bits:
        drawn = int.from_bytes(source.words(count).astype("<u8").tobytes(), "little") >> (count * _BITS - bits)
        if drawn < limit:
            return drawn
    return 0


@attrs.frozen(kw_only=True)
class DiscreteGaussian(NoiseModel):
    """``step`` times such an integer.

    Attributes:
        scale: ``sigma step``, more than 0.
        step: Of the grid, more than 0.
    """

    scale: float = attrs.field(validator=positive)
    step: float = attrs.field(validator=positive)

    @property
    def grid(self) -> float:
        """The step."""
        return self.step

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent multiples of the step, shape ``(size,)``: for study, not for release."""
        source, variance = SeededWords(rng), (decimal(self.scale) / decimal(self.step)) ** 2
        return np.array([discrete_gaussian(variance, source) for _ in range(size)]) * self.step

    @property
    def std(self) -> float:
        """The scale: never less, and from two steps on no more than can be told apart."""
        return self.scale

    def tail(self, delta: float) -> float:
        """That of the normal law and a step: the sum of a falling density is below its integral from a step before."""
        return -self.scale * NormalDist().inv_cdf(delta / 2) + self.step
