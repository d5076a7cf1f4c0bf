"""Ranked lists whose score is no sum of ranks: average precision, and the reciprocal rank (statements M21, M22).

The *average precision* is the mean, over the positives, of the precision of the list down to each one's tie group: it
depends on pairs of records, so that no interval for one sum says what an answer tells. Whether given labels fit an
answer is computed exactly, with the error that scikit-learn's own function can have, the sum in any order.

The *reciprocal rank* is one over the number of records that are predicted at least as high as the best positive; ties
count against it. It has no function of its own in scikit-learn: with that positive as the only one it is
``label_ranking_average_precision_score``, which is what is asked. An answer tells that all records above are negative,
and that one of the tie group, at least, is positive.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.average_precision import between_sums
from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = ["AveragePrecision", "ReciprocalRank", "average_precision"]

_SECOND_ORDER = Fraction(101, 100)


def average_precision(labels: NDArray[np.intp], predictions: Floats) -> Fraction:
    """Return the average precision exactly: tied records share the precision at the end of their group."""
    _, group, sizes = np.unique(-predictions, return_inverse=True, return_counts=True)
    positive = np.bincount(group, weights=labels, minlength=len(sizes)).astype(int).tolist()
    ranks, found = np.cumsum(sizes).tolist(), np.cumsum(positive).tolist()
    total = sum((Fraction(p * c, r) for p, c, r in zip(positive, found, ranks, strict=True) if p), Fraction(0))
    return total / int(found[-1])


@attrs.frozen(kw_only=True)
class AveragePrecision(ScoredMetric):
    """The average precision of two classes, scored in doubles."""

    rows = Rows.PRECISIONS
    sums = False
    ties = "one threshold: tied records share the precision at the end of their group, as scikit-learn treats them"
    score = scikit_learn("average_precision_score")
    extent = 1.0  # the only positive may be the first or the last, or there may be none

    def floor(self, totals: Totals) -> float:
        """Return ``n / (2 P N)``: one record above all others, which are tied."""
        return totals.n_negative / (2 * totals.n_positive * totals.n_records)

    def enough(self, totals: Totals) -> float:
        """Return half of the whole range, 0 to 1; of less nothing is proved."""
        return 0.5

    def error(self, predictions: Floats, totals: Totals) -> Fraction:
        """Return the largest error of scikit-learn's score of such predictions.

        A recall is rounded, relatively by u, and it is at most the records so far over P; it counts in two steps, and
        the last one is exact. The steps, their precisions, products and additions, in any order, are relative; only
        groups with a positive have a step.
        """
        _, sizes = np.unique(-predictions, return_counts=True)
        so_far = np.minimum(np.cumsum(sizes)[:-1], totals.n_positive).sum()
        steps = min(sizes.size, totals.n_positive)
        return _SECOND_ORDER * UNIT * (Fraction(2 * int(so_far), totals.n_positive) + steps + 2)

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Tell nothing: the score is no function of a sum over the records.

        Raises:
            ValueError: Always.
        """
        raise ValueError("an average precision is no function of a sum over the records")

    def readings(
        self,
        predictions: Floats,
        score: Fraction,
        totals: Totals,
        released: Released,
        near: NDArray[np.intp] | None = None,
    ) -> tuple[Reading, ...]:
        """Return two sums over the records: one that is at most what the answer says, one that is at least that."""
        if not np.isfinite(predictions).all():
            raise ValueError("predictions must be finite")
        low, high = released.interval(score, self.error(predictions, totals))
        return between_sums(predictions, (low, high), totals.n_positive, near)

    def fits(
        self, labels: NDArray[np.intp], predictions: Floats, score: Fraction, totals: Totals, released: Released
    ) -> bool:
        """Whether labels may have this score, in exact arithmetic."""
        low, high = released.interval(score, self.error(predictions, totals))
        return low <= average_precision(labels, predictions) <= high


@attrs.frozen(kw_only=True)
class ReciprocalRank(ScoredMetric):
    """One over the rank of the first positive of one list."""

    rows = Rows.FIRST
    ties = "count against: the rank is the number of records predicted at least as high as the best positive"
    extent = 1.0  # the only positive may be the first

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return ``sklearn.metrics.label_ranking_average_precision_score`` of the best positive alone."""
        from sklearn.metrics import label_ranking_average_precision_score

        if not labels.any():
            return 0.0
        only = np.zeros((1, labels.size), dtype=np.intp)
        only[0, np.where(labels == 1, predictions, -np.inf).argmax()] = 1
        return float(label_ranking_average_precision_score(only, predictions[None]))

    def values(self, totals: Totals) -> float:
        """Return the ranks that the first of P positives can have."""
        return totals.n_negative + 1

    def floor(self, totals: Totals) -> float:
        """Return a quarter: of a record alone on top the score is 1, and at most 1/2 without it."""
        return 0.25

    def enough(self, totals: Totals) -> float:
        """Return half of the range: all scores lie between ``1 / N`` and 1."""
        return (1 - 1 / totals.n_records) / 2

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return that the records above are negative, and one of those that may be the first is positive.

        Both in one inequality: with g records that may be the first, ``(g + 1)`` times the positives above, less those
        among the g, is at most -1.

        Raises:
            ValueError: A prediction is not finite, or no rank gives this score.
        """
        if not np.isfinite(predictions).all():
            raise ValueError("predictions must be finite")
        low, high = released.interval(score, 4 * UNIT)
        if high <= 0:
            raise ValueError("no rank gives this score")
        last = math.floor(1 / low) if low > 0 else predictions.size
        _, group, sizes = np.unique(-predictions, return_inverse=True, return_counts=True)
        ranks = np.cumsum(sizes)
        fitting = np.flatnonzero((ranks <= last) & (ranks >= math.ceil(1 / high)))
        if not fitting.size:
            raise ValueError("no rank gives this score")
        maybe = (group >= fitting[0]) & (group <= fitting[-1])
        n_maybe = int(np.count_nonzero(maybe))
        coefficients = np.where(group < fitting[0], n_maybe + 1, -maybe.astype(np.int64))
        return Reading(coefficients=coefficients, low=Fraction(-n_maybe), high=Fraction(-1))
