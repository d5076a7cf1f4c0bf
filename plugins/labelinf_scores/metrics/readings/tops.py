"""Precision and lift among the k records predicted highest, with ties averaged.

Neither has a function of its own in scikit-learn, so here is what they are: records that are tied across rank k count
by the share of them that there is room for, which is the mean over all their orders, as scikit-learn's NDCG treats
ties. A host that cuts by position instead is the same on queries that have exactly k records on top.

Of a submission of zeros and ones they count the positives among the ones, whatever k is: up to k ones the rest fills
the list up, evenly; beyond k the score is the precision of the ones. So all that reads counts reads them.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric

__all__ = ["LiftAtK", "PrecisionAtK"]


@attrs.frozen(kw_only=True)
class PrecisionAtK(ConfusionMetric):
    """The share of positives among the k records predicted highest.

    Attributes:
        k: How many there are; where there are fewer records, all of them.
    """

    steps_at_ends: ClassVar[bool] = True
    ties: ClassVar[str] = "averaged: records tied across rank k count by the share of them that there is room for"
    k: int = attrs.field(default=10, validator=attrs.validators.ge(1))

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return the score of ``a`` true positives among ``s`` ones, the other records tied below."""
        n, k = totals.n_records, min(self.k, totals.n_records)
        if s >= k:
            return self._per_rank(totals) * Fraction(a * k, s)
        return self._per_rank(totals) * (a + Fraction((totals.n_positive - a) * (k - s), n - s))

    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return what is defined here, of predictions 0 and 1."""
        return self.score(labels, hard.astype(np.float64))

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return the positives above rank k, and the share of those tied across it, over k."""
        weights, unit = _rooms(predictions, self.k)
        return float((labels * weights).sum() / (min(self.k, labels.size) * unit))

    def steepest(self, totals: Totals) -> Iterable[int]:
        """Return k, and what there is where no set has so many."""
        return min(self.k, totals.n_records - 1), 1

    def on_few(self, n_records: int) -> PrecisionAtK:
        """Return it with a k of half the records: a list that holds all of them tells nothing."""
        return attrs.evolve(self, k=min(self.k, n_records // 2))

    def values(self, totals: Totals) -> float:
        """Return how many pairs of counts there are, above rank k and tied across it."""
        return (min(self.k, totals.n_positive) + 1) * (totals.n_positive + 1)

    def sensitivity(self, n_records: int) -> float:
        """Return ``1 / k``, whatever the query."""
        return 1 / min(self.k, n_records)

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return the count of true positives of predictions 0 and 1; of others an interval of positives above rank k.

        Raises:
            ValueError: A prediction is not finite, or no count of true positives gives this score.
        """
        if not np.isfinite(predictions).all():
            raise ValueError("predictions must be finite")
        if np.isin(predictions, (0, 1)).all():
            return super().reading(predictions, score, totals, released)
        weights, unit = _rooms(predictions, self.k)
        low, high = released.interval(score, 16 * UNIT * max(Fraction(1), abs(score)))
        each = self._per_rank(totals) / unit
        return Reading(coefficients=weights, low=low / each, high=high / each)

    def _per_rank(self, totals: Totals) -> Fraction:
        return Fraction(1, min(self.k, totals.n_records))


@attrs.frozen(kw_only=True)
class LiftAtK(PrecisionAtK):
    """The precision among the k records predicted highest, over the share of positives.

    Attributes:
        k: How many there are; where there are fewer records, all of them.
    """

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return the precision over the mean label."""
        return float(super().score(labels, predictions) / labels.mean())

    def sensitivity(self, n_records: int) -> float:
        """Return N: a positive alone on top, where there is no other, is a lift of N."""
        return float(n_records)

    def _per_rank(self, totals: Totals) -> Fraction:
        return super()._per_rank(totals) * Fraction(totals.n_records, totals.n_positive)


def _rooms(predictions: Floats, k: int) -> tuple[NDArray[np.int64], int]:
    """Return by which share every record is among the first k, and the unit of the shares."""
    _, group, sizes = np.unique(-predictions, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    k = min(k, predictions.size)
    across = int(np.searchsorted(ends, k))  # the group that rank k falls into
    unit, room = int(sizes[across]), int(k - (ends[across] - sizes[across]))
    return np.where(group < across, unit, np.where(group == across, room, 0)).astype(np.int64), unit
