"""Squared errors: MSE, RMSE and R2, which tell ``sum_i p_i y_i`` whatever real numbers p are (statement M23).

``N MSE = sum p^2 - 2 sum p y + sum y^2``, and the last sum is public with the class totals. Labels count as the numbers
0, 1, ..., K - 1. Predictions have no bound, so decimals do not protect the MSE: what is large enough is seen through
any number of decimals (M24).
"""

from __future__ import annotations

import abc
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals

__all__ = ["R2", "MeanSquaredError", "RootMeanSquaredError", "SquaredResiduals"]

_FINEST = 300  # of predictions: 2**-300 and its multiples


def pairwise(n_records: int) -> Fraction:
    """Return the relative error of scikit-learn's mean of squares, which NumPy adds pairwise (M23, corrected)."""
    return 2 * UNIT * Fraction(26 + max(0, math.ceil(math.log2(max(n_records, 1) / 128))))


@attrs.frozen(kw_only=True)
class SquaredResiduals(ScoredMetric):
    """A function of the sum of squared residuals."""

    rows = Rows.REALS
    higher = False
    two_classes = False

    def floor(self, totals: Totals) -> float:
        """No noise stops it: predictions have no bound, and what they say of a label grows with them (M24)."""
        return float("inf")

    @abc.abstractmethod
    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return the sum of squared residuals that has this exact score; scores beyond the range count as its end."""

    @abc.abstractmethod
    def of_total(self, total: float, totals: Totals) -> float:
        """Return the score of a sum of squared residuals, in doubles."""

    def length(self, total: float, totals: Totals, released: Released) -> float:
        """Return how long the interval for the sum of predictions times labels is, at this sum of squared residuals."""
        ends = self._ends(Fraction(self.of_total(total, totals)), totals, released)
        return float(ends[1] - ends[0]) / 2

    def _ends(self, score: Fraction, totals: Totals, released: Released) -> list[Fraction]:
        """Return between which sums of squared residuals a released score leaves them."""
        low, high = released.interval(score, Fraction(0))
        error = self.error(max(abs(low), abs(high)), totals.n_records)
        return sorted((self.total(low - error, totals), self.total(high + error, totals)))

    def error(self, size: Fraction, n_records: int) -> Fraction:
        """Return the largest arithmetic error of a library's score of at most ``size``."""
        return pairwise(n_records) * size

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of predictions times labels, in units in which predictions are whole.

        Raises:
            ValueError: A prediction is not finite, or too fine to be held exactly.
        """
        coefficients, scale = whole(predictions)
        ends = self._ends(score, totals, released)
        squares, unit = int((coefficients * coefficients).sum()), 1 << scale
        least, most = ((squares + (totals.power(2) - end) * unit * unit) / (2 * unit) for end in reversed(ends))
        return Reading(coefficients=coefficients, low=Fraction(least), high=Fraction(most))


def whole(predictions: Floats) -> tuple[NDArray[Any], int]:
    """Return predictions times ``2**scale`` as whole numbers, exactly, and the least such scale.

    Raises:
        ValueError: A prediction is not finite, or too fine.
    """
    if not np.isfinite(predictions).all():
        raise ValueError("predictions must be finite")
    for scale in range(0, _FINEST, 4):
        scaled = np.ldexp(predictions, scale)
        if np.isfinite(scaled).all() and (scaled == np.floor(scaled)).all():
            return np.array([int(value) for value in scaled.tolist()], dtype=object), scale
    raise ValueError(f"predictions must be multiples of 2**-{_FINEST}")


@attrs.frozen(kw_only=True)
class MeanSquaredError(SquaredResiduals):
    """The mean squared error."""

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return ``sklearn.metrics.mean_squared_error``."""
        from sklearn.metrics import mean_squared_error

        return float(mean_squared_error(labels, predictions))

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``N score``."""
        return max(score, Fraction(0)) * totals.n_records

    def of_total(self, total: float, totals: Totals) -> float:
        """Return the mean."""
        return total / totals.n_records


@attrs.frozen(kw_only=True)
class RootMeanSquaredError(SquaredResiduals):
    """The root of the mean squared error."""

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return ``sklearn.metrics.root_mean_squared_error``."""
        from sklearn.metrics import root_mean_squared_error

        return float(root_mean_squared_error(labels, predictions))

    def error(self, size: Fraction, n_records: int) -> Fraction:
        """Half the relative error of the mean, and the root's own rounding."""
        return (pairwise(n_records) / 2 + 2 * UNIT) * size

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``N score^2``."""
        return max(score, Fraction(0)) ** 2 * totals.n_records

    def floor(self, totals: Totals) -> float:
        """Return ``1 / (2 sqrt(N))``: what one label does to the root comes as near to twice that as one likes."""
        return 1 / (2 * math.sqrt(totals.n_records))

    def of_total(self, total: float, totals: Totals) -> float:
        """Return the root of the mean."""
        return math.sqrt(total / totals.n_records)


@attrs.frozen(kw_only=True)
class R2(SquaredResiduals):
    """One minus the share of the squared deviations that is left."""

    higher = True

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return ``sklearn.metrics.r2_score``."""
        from sklearn.metrics import r2_score

        return float(r2_score(labels, predictions))

    def error(self, size: Fraction, n_records: int) -> Fraction:
        """Two sums of squares, the mean within the second, a quotient and a difference."""
        return 2 * (pairwise(n_records) + 2 * UNIT) * (1 + size) + 2 * UNIT

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``(1 - score)`` times the sum of squared deviations from the mean label."""
        return max(1 - score, Fraction(0)) * self._deviations(totals)

    def of_total(self, total: float, totals: Totals) -> float:
        """Return one minus the share that is left."""
        return 1 - total / float(self._deviations(totals))

    @staticmethod
    def _deviations(totals: Totals) -> Fraction:
        return totals.power(2) - Fraction(totals.power(1) ** 2, totals.n_records)
