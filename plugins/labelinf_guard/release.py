"""From an exact score to what is told: noise on a grid of integers, rounding, and text of fixed width. No float occurs.

Example:
    >>> scale = AnswerScale(low=Fraction(0), high=Fraction(1), decimals=3)
    >>> scale.answers, scale.text(scale.symbol(Fraction(2, 3)))
    (1001, '0.667')
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs

from labelinf_privacy.noise.discrete_gaussian import discrete_gaussian
from labelinf_privacy.words import Words

__all__ = ["FINE", "AnswerScale", "ReleaseNoise"]

FINE = 1024  #: steps of the noise's grid in what one label moves a score


@attrs.frozen(kw_only=True)
class AnswerScale:
    """The answers a board can give.

    Attributes:
        low: Of all scores.
        high: Of all scores.
        decimals: Of an answer.
    """

    low: Fraction
    high: Fraction
    decimals: int

    @property
    def _ten(self) -> int:
        return int(10**self.decimals)

    @property
    def first(self) -> int:
        """The first answer, in units of its last decimal."""
        return math.floor(self.low * self._ten)

    @property
    def answers(self) -> int:
        """How many there are."""
        return math.ceil(self.high * self._ten) - self.first + 1

    def symbol(self, score: Fraction) -> int:
        """Return the number of the answer nearest to a score, halves up."""
        nearest = math.floor(score * self._ten + Fraction(1, 2)) - self.first
        return max(0, min(self.answers - 1, nearest))

    def edge(self, symbol: int) -> Fraction:
        """Return the least score that is told as an answer, but for the first one."""
        return (self.first + symbol - Fraction(1, 2)) / self._ten

    def text(self, symbol: int) -> str:
        """Return an answer as it is told, all of the same width."""
        value = self.first + symbol
        whole, part = divmod(abs(value), self._ten)
        width = len(str(max(abs(self.first), abs(self.first + self.answers - 1)) // self._ten))
        sign = "-" if value < 0 else (" " if self.first < 0 else "")
        return f"{sign}{whole:0{width}d}" + (f".{part:0{self.decimals}d}" if self.decimals else "")


@attrs.frozen(kw_only=True)
class ReleaseNoise:
    """Discrete Gaussian noise, on a grid that is fixed before any label is seen.

    Attributes:
        deviation: In units of the score, five steps at least.
        move: What one label moves the score at most, more than 0.
    """

    deviation: Fraction
    move: Fraction

    @property
    def step(self) -> Fraction:
        """Of the grid."""
        return self.move / FINE

    @property
    def variance(self) -> Fraction:
        """In steps."""
        return (self.deviation / self.step) ** 2

    def added(self, score: Fraction, source: Words) -> Fraction:
        """Return the score on the grid, with fresh noise added to it, integer to integer.

        Halves all go the same way: scores no further apart than ``move`` are no more than ``FINE`` steps apart.
        """
        return (self.steps(score) + discrete_gaussian(self.variance, source)) * self.step

    def steps(self, score: Fraction) -> int:
        """Return the score on the grid."""
        return math.floor(score / self.step + Fraction(1, 2))
