"""Absolute deviations: MAE, pinball loss and D2, which tell on which side of a prediction each label lies (M26).

A record costs ``below (p - v)`` where its label v is at most the prediction p, and ``above (v - p)`` where it is more.
The slopes are rational; in units of their denominator they are whole, so that fractions of predictions tell the side.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.library import scikit_learn
from labelinf_scores.metrics.readings.squares import pairwise, whole

__all__ = ["D2AbsoluteError", "Deviations", "MeanAbsoluteError", "PinballLoss"]

_MOST = 1000  #: times one over a share: the denominator that a pinball loss is given


@attrs.frozen(kw_only=True)
class Deviations(ScoredMetric):
    """A function of the sum of deviations, those below and above weighed apart."""

    rows = Rows.LEVELS
    higher = False
    two_classes = False
    of_values = True

    @property
    def slopes(self) -> tuple[Fraction, Fraction]:
        """What one unit costs by which a label lies above its prediction, and below."""
        return Fraction(1), Fraction(1)

    def units(self) -> tuple[int, int, int]:
        """Return the common denominator of the slopes, and both in its units."""
        above, below = self.slopes
        unit = math.lcm(above.denominator, below.denominator)
        return unit, int(above * unit), int(below * unit)

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return the sum of costs that has this exact score."""
        return score * totals.n_records

    def of_total(self, total: float, totals: Totals) -> float:
        """Return the score of a sum of costs, in doubles."""
        return total / totals.n_records

    def error(self, size: Fraction, totals: Totals) -> Fraction:
        """Return the largest arithmetic error of a library's score of at most ``size``.

        Differences and slopes round once each, relative to the values too, and the mean is NumPy's pairwise one.
        """
        return pairwise(totals.n_records) * size + 4 * UNIT * max(abs(Fraction(value)) for value in totals.values)

    def floor(self, totals: Totals) -> float:
        """No noise stops it: predictions have no bound, and next to large ones a scorer's rounding magnifies a label.

        Whoever predicts ``2^e`` of all others, whose labels are lost in it, chooses one prediction so that its own
        label decides which way their sum is rounded: by about ``2^(e - 53)``.
        """
        return float("inf")

    def length(self, total: float, totals: Totals, released: Released) -> float:
        """Return how long the interval for the sum of costs is, at this sum."""
        ends = self._ends(Fraction(self.of_total(total, totals)), totals, released)
        return float(ends[1] - ends[0])

    def _ends(self, score: Fraction, totals: Totals, released: Released) -> list[Fraction]:
        low, high = released.interval(score, Fraction(0))
        error = self.error(max(abs(low), abs(high)), totals)
        return sorted((self.total(low - error, totals), self.total(high + error, totals)))

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of costs, in units in which all of them are whole.

        Raises:
            ValueError: A prediction is not finite, or too fine to be held exactly.
        """
        levels, scale = whole(predictions)
        _, above, below = self.units()
        grid = self._denominator(totals)
        table = np.empty((levels.size, len(totals.values)), dtype=object)
        for k, value in enumerate(totals.values):
            apart = int(value * grid) * 2**scale - levels * grid
            table[:, k] = np.where(apart > 0, apart * above, -apart * below)
        least, most = (end * self.grain(predictions, totals) for end in self._ends(score, totals, released))
        return Reading(coefficients=table, low=least, high=most)

    def grain(self, predictions: Floats, totals: Totals) -> int:
        """Return how many units of a reading's coefficients make a cost of one."""
        return (self.units()[0] * self._denominator(totals)) << whole(predictions)[1]

    @staticmethod
    def _denominator(totals: Totals) -> int:
        return math.lcm(*(Fraction(value).denominator for value in totals.values))


@attrs.frozen(kw_only=True)
class MeanAbsoluteError(Deviations):
    """The mean absolute error."""

    score = scikit_learn("mean_absolute_error")

    def moved(self, n_records: int, width: float) -> float:
        """Return ``V / N`` (M37, corrected)."""
        return width / n_records


@attrs.frozen(kw_only=True)
class PinballLoss(Deviations):
    """The mean pinball (quantile) loss.

    Attributes:
        alpha: The quantile that it is least at, between 0 and 1.
    """

    alpha: float = attrs.field(default=0.5, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])

    def moved(self, n_records: int, width: float) -> float:
        """Return ``V / N`` times the steeper slope."""
        return max(self.alpha, 1 - self.alpha) * width / n_records

    @property
    def slopes(self) -> tuple[Fraction, Fraction]:
        """Return ``alpha`` above the prediction and ``1 - alpha`` below."""
        exact = Fraction(self.alpha)
        alpha = exact.limit_denominator(math.ceil(_MOST / min(exact, 1 - exact)))
        return alpha, 1 - alpha

    def error(self, size: Fraction, totals: Totals) -> Fraction:
        """As that of all deviations, and what the share is off that was taken for alpha."""
        alpha = self.slopes[0]
        off = (abs(Fraction(self.alpha) - alpha) + 2 * UNIT) / min(alpha, 1 - alpha)
        return super().error(size, totals) + (size * off / (1 - off) if off < 1 else size / UNIT)

    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return ``sklearn.metrics.mean_pinball_loss``."""
        from sklearn.metrics import mean_pinball_loss

        return float(mean_pinball_loss(labels, predictions, alpha=self.alpha))


@attrs.frozen(kw_only=True)
class D2AbsoluteError(Deviations):
    """One minus the share of the absolute deviations from the median that is left."""

    higher = True
    score = scikit_learn("d2_absolute_error_score")

    def error(self, size: Fraction, totals: Totals) -> Fraction:
        """Two sums of deviations, the median within the second, a quotient and a difference."""
        once = pairwise(totals.n_records) + 4 * UNIT + 4 * UNIT * self._spread(totals)
        return 2 * (1 + size) * once

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``1 - score`` times the sum of deviations from the median."""
        return (1 - score) * self._deviations(totals)

    def of_total(self, total: float, totals: Totals) -> float:
        """Return one minus the share that is left."""
        return 1 - total / float(self._deviations(totals))

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def _deviations(totals: Totals) -> Fraction:
        pairs = sorted(zip(totals.values, totals.counts, strict=True))
        values = [value for value, count in pairs for _ in range(count)]
        n = len(values)
        middle = Fraction(values[(n - 1) // 2] + values[n // 2]) / 2
        return sum((abs(value - middle) for value in values), Fraction(0))

    @classmethod
    def _spread(cls, totals: Totals) -> Fraction:
        """Return how large values are against their mean deviation: what their rounding weighs."""
        largest = max(abs(Fraction(value)) for value in totals.values)
        return largest / (cls._deviations(totals) / totals.n_records)
