"""Squared errors: MSE, RMSE, R2 and RMSLE, which tell ``sum_i p_i y_i`` whatever real numbers p are (statement M23).

``N MSE = sum p^2 - 2 sum p y + sum y^2``, and the last sum is public with the class totals. Labels count as what their
classes stand for. Predictions have no bound, so decimals do not protect the MSE: what is large enough is seen through
any number of decimals (M24). RMSLE is the same with ``log(1 + p)`` and ``log(1 + y)`` in their places (M25).
"""

from __future__ import annotations

import abc
import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = ["R2", "MeanSquaredError", "RootMeanSquaredError", "RootMeanSquaredLogError", "SquaredResiduals"]

_FINEST = 300  # of predictions: 2**-300 and its multiples
_LOG_BITS = 120  # to which logarithms are computed, as multiples of 2**-120


def pairwise(n_records: int) -> Fraction:
    """Return the relative error of scikit-learn's mean of squares, which NumPy adds pairwise (M23, corrected)."""
    return 2 * UNIT * Fraction(26 + max(0, math.ceil(math.log2(max(n_records, 1) / 128))))


@attrs.frozen(kw_only=True)
class SquaredResiduals(ScoredMetric):
    """A function of the sum of squared residuals."""

    rows = Rows.REALS
    higher = False
    two_classes = False
    of_values = True
    reach: ClassVar[float] = math.inf  #: the largest coefficient that a prediction can have

    def predictions(self, coefficients: Floats) -> Floats:
        """Return predictions that have these coefficients, as nearly as doubles do."""
        return coefficients

    def coefficients(self, predictions: Floats) -> tuple[NDArray[Any], int]:
        """Return the coefficients times ``2**scale`` as whole numbers, and the scale.

        Raises:
            ValueError: A prediction is not finite, or too fine to be held exactly.
        """
        return whole(predictions)

    def numbers(self, totals: Totals) -> tuple[Fraction, ...]:
        """Return what the classes stand for in the sum."""
        return tuple(map(Fraction, totals.values))

    def slack(self, coefficients: NDArray[Any], scale: int, total: Fraction, totals: Totals) -> Fraction:
        """Return what else the sum of squared residuals may be off: nothing where predictions are the coefficients.

        Values that are no doubles are rounded before they are scored; those that labels come with are.
        """
        return Fraction(0)

    def floor(self, totals: Totals) -> float:
        """No noise stops it: predictions have no bound, and what they say of a label grows with them (M24).

        That of a root does not, but its rounding does: next to large predictions it magnifies a label.
        """
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
        error = self.error(max(abs(low), abs(high)), totals)
        return sorted((self.total(low - error, totals), self.total(high + error, totals)))

    def error(self, size: Fraction, totals: Totals) -> Fraction:
        """Return the largest arithmetic error of a library's score of at most ``size``."""
        return pairwise(totals.n_records) * size

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of predictions times labels, in units in which predictions are whole.

        Raises:
            ValueError: A prediction is not finite, or too fine to be held exactly.
        """
        coefficients, scale = self.coefficients(predictions)
        low, high = self._ends(score, totals, released)
        slack = self.slack(coefficients, scale, high, totals)
        squares, unit, numbers = int((coefficients * coefficients).sum()), 1 << scale, self.numbers(totals)
        own = sum((count * number**2 for count, number in zip(totals.counts, numbers, strict=True)), Fraction(0))
        ends = ((squares + (own - end) * unit * unit) / (2 * unit) for end in (high + slack, low - slack))
        least, most = map(Fraction, ends)
        plain = numbers == tuple(range(len(numbers)))
        return Reading(coefficients=coefficients, low=least, high=most, numbers=None if plain else numbers)


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

    score = scikit_learn("mean_squared_error")

    def moved(self, n_records: int, width: float) -> float:
        """Return ``V^2 / N``: a residual is ``V`` at most (M37)."""
        return width**2 / n_records

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``N score``."""
        return max(score, Fraction(0)) * totals.n_records

    def of_total(self, total: float, totals: Totals) -> float:
        """Return the mean."""
        return total / totals.n_records


@attrs.frozen(kw_only=True)
class RootMeanSquaredError(SquaredResiduals):
    """The root of the mean squared error."""

    score = scikit_learn("root_mean_squared_error")

    def moved(self, n_records: int, width: float) -> float:
        """Return ``V / sqrt(N)``: roots are no further apart than the root of how far squares are (M37)."""
        return width / math.sqrt(n_records)

    def error(self, size: Fraction, totals: Totals) -> Fraction:
        """Half the relative error of the mean, and the root's own rounding."""
        return (pairwise(totals.n_records) / 2 + 2 * UNIT) * size

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``N score^2``."""
        return max(score, Fraction(0)) ** 2 * totals.n_records

    def of_total(self, total: float, totals: Totals) -> float:
        """Return the root of the mean."""
        return math.sqrt(total / totals.n_records)


@attrs.frozen(kw_only=True)
class R2(SquaredResiduals):
    """One minus the share of the squared deviations that is left."""

    higher = True
    score = scikit_learn("r2_score")

    def error(self, size: Fraction, totals: Totals) -> Fraction:
        """Two sums of squares, the mean within the second, a quotient and a difference.

        A mean that is off by e makes the second sum larger by ``N e^2``, which counts where values are large against
        how far they are apart.
        """
        return self._off(totals) * (1 + size) + 2 * UNIT

    @classmethod
    @functools.lru_cache(maxsize=64)
    def _off(cls, totals: Totals) -> Fraction:
        n, largest = totals.n_records, max(abs(Fraction(value)) for value in totals.values)
        apart = n * (pairwise(n) * largest) ** 2 / cls._deviations(totals)
        return 2 * (pairwise(n) + 2 * UNIT + apart)

    def total(self, score: Fraction, totals: Totals) -> Fraction:
        """Return ``(1 - score)`` times the sum of squared deviations from the mean label."""
        return max(1 - score, Fraction(0)) * self._deviations(totals)

    def of_total(self, total: float, totals: Totals) -> float:
        """Return one minus the share that is left."""
        return 1 - total / float(self._deviations(totals))

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def _deviations(totals: Totals) -> Fraction:
        return totals.power(2) - Fraction(totals.power(1) ** 2, totals.n_records)


@attrs.frozen(kw_only=True)
class RootMeanSquaredLogError(RootMeanSquaredError):
    """The root of the mean squared difference of ``log(1 + y)`` and ``log(1 + p)``; neither may be below zero."""

    reach = 700.0
    score = scikit_learn("root_mean_squared_log_error")

    def moved(self, n_records: int, width: float) -> float:
        """Return infinity: nothing is proved of the rounding of logarithms."""
        return math.inf

    def floor(self, totals: Totals) -> float:
        """Return half of what the two nearest numbers do to the root at least, a record predicted far off.

        That is their distance over ``sqrt(N)``, less what the others' residuals take from it, who are predicted the
        least number: logarithms of predictions are bounded, unlike predictions.
        """
        if min(totals.values) < 0:  # there is no score
            return 0.0
        numbers = [float(number) for number in self.numbers(totals)]
        far = self.reach - min(numbers)
        others = sum(count * (number - min(numbers)) ** 2 for number, count in zip(numbers, totals.counts, strict=True))
        share = far / math.sqrt(far**2 + others)
        return share * self._nearest(self.numbers(totals)) / (2 * math.sqrt(totals.n_records))

    def enough(self, totals: Totals) -> float:
        """Return ``sqrt(2)`` times that, of numbers that have records: two exchanged move the residuals no further."""
        if min(totals.values) < 0:
            return math.inf
        numbers = zip(self.numbers(totals), totals.counts, strict=True)
        return self._nearest([number for number, count in numbers if count]) / math.sqrt(2 * totals.n_records)

    @staticmethod
    def _nearest(numbers: Sequence[Fraction]) -> float:
        return float(min(b - a for a, b in itertools.pairwise(sorted(numbers))))

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``; scikit-learn refuses what is below zero."""
        if problem := super().fault(predictions, n_records):
            return problem
        return "" if np.asarray(predictions).min() >= 0 else "predictions must not be below zero."

    def predictions(self, coefficients: Floats) -> Floats:
        """Return ``exp(c) - 1``."""
        return np.expm1(np.maximum(coefficients, 0.0))

    def coefficients(self, predictions: Floats) -> tuple[NDArray[Any], int]:
        """Return ``log(1 + p)``, to ``2**-120``."""
        if not np.isfinite(predictions).all() or predictions.min() < 0:
            raise ValueError("predictions must be finite and not below zero")
        found = {value: _log1p(Fraction(value)) for value in np.unique(predictions).tolist()}
        return np.array([found[value] for value in predictions.tolist()], dtype=object), _LOG_BITS

    def numbers(self, totals: Totals) -> tuple[Fraction, ...]:
        """Return ``log(1 + v)`` of every value v, to ``2**-120``.

        Raises:
            ValueError: A value is below zero.
        """
        if min(totals.values) < 0:
            raise ValueError("values must not be below zero")
        return tuple(Fraction(_log1p(Fraction(value)), 2**_LOG_BITS) for value in totals.values)

    def slack(self, coefficients: NDArray[Any], scale: int, total: Fraction, totals: Totals) -> Fraction:
        """Logarithms are correct to four units in the last place, those here and in the scorer.

        Every residual is off by that much of both its logarithms, so their squares by ``2 sqrt(S) |errors|``.
        """
        largest = max(float(number) for number in self.numbers(totals))
        sizes = np.array([math.ldexp(float(c), -scale) for c in coefficients.tolist()]) + largest
        off = 8 * float(UNIT) * float(np.sqrt((sizes**2).sum())) * 1.001
        return Fraction(2 * math.sqrt(max(0.0, float(total))) * off * 1.001 + off**2)


def _log1p(value: Fraction) -> int:
    """Return ``log(1 + value)`` times ``2**120``, rounded."""
    with gmpy2.context(precision=_LOG_BITS + 64):
        return int(gmpy2.rint(gmpy2.mul_2exp(gmpy2.log(gmpy2.mpfr(gmpy2.mpq(value) + 1)), _LOG_BITS)))
