"""The AUC of many classes: the mean over classes of one against the rest, or over pairs of one against the other (M31).

Both are sums over ordered pairs of classes (k, b) of ``w_kb U_kb``, where ``U_kb`` counts how often a record of class k
stands above one of class b in *column k*, ties as halves: ``w_kb = 1 / (K n_k (N - n_k))`` of one against the rest,
``1 / (K (K - 1) n_k n_b)`` of pairs. The first is a sum over the records, of midranks in the column of their class; the
second is not: which records are compared depends on their labels.

Rows of predictions must sum to one, within scikit-learn's tolerance of some 1e-5: columns can be ordered at will.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.library import scikit_learn
from labelinf_scores.metrics.readings.ranks import RocAuc, doubled_midranks

__all__ = ["MacroAuc", "PairwiseAuc"]


@attrs.frozen(kw_only=True)
class MacroAuc(ScoredMetric):
    """The mean over the classes of the AUC of each against the rest; of two classes the AUC."""

    rows = Rows.COLUMNS
    ties = RocAuc.ties
    two_classes = False
    columns = True
    score = scikit_learn("roc_auc_score", multi_class="ovr", average="macro")
    extent = 1.0  # a class may be empty

    def of_classes(self, n_classes: int) -> ScoredMetric:
        """Return the AUC where there are two classes."""
        return RocAuc() if n_classes == 2 else self

    def weight(self, k: int, b: int, totals: Totals) -> Fraction:
        """Return what a record of class k above one of class b in column k is worth."""
        n_k = totals.counts[k]
        return Fraction(1, len(totals.counts) * n_k * (totals.n_records - n_k))

    def alone(self, k: int, totals: Totals) -> Fraction:
        """Return by how much a record on top of column k, all others tied, tells class k from any other, at least."""
        others = [b for b in range(len(totals.counts)) if b != k]
        won = sum((self.weight(k, b, totals) * totals.counts[b] for b in others), Fraction(0)) / 2
        return won + min(self.weight(k, b, totals) * totals.counts[k] for b in others) / 2

    def floor(self, totals: Totals) -> float:
        """Return half of what one record on top of a column tells, of any class but one."""
        if min(totals.counts) == 0:
            return 0.0
        return float(sorted(self.alone(k, totals) for k in range(len(totals.counts)))[1] / 2)

    def enough(self, totals: Totals) -> float:
        """Return half of the whole range, 0 to 1; of less nothing is proved."""
        return 0.5

    def error(self, totals: Totals) -> Fraction:
        """Return the largest error of scikit-learn's score: of an AUC, and of a mean of at most K squared of them."""
        return (totals.n_records + 8 + len(totals.counts) ** 2) * UNIT

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``; empty when they can be scored."""
        values = np.asarray(predictions)
        if values.ndim != 2 or len(values) != n_records or values.shape[1] < 2:
            return f"predictions have shape {values.shape}, expected ({n_records}, classes)."
        if values.dtype.kind not in "biuf":
            return f"predictions have type {values.dtype}, expected numbers."
        if not np.isfinite(values).all():
            return "predictions must be finite."
        return "" if np.allclose(1, values.sum(axis=1)) else "rows of predictions must sum to one."

    def worth(self, labels: NDArray[np.intp], predictions: Floats, totals: Totals) -> Fraction:
        """Return the score exactly."""
        total = Fraction(0)
        for k in range(len(totals.counts)):
            for b in range(len(totals.counts)):
                if b != k:
                    chosen = (labels == k) | (labels == b)
                    ranks = doubled_midranks(predictions[chosen, k])[labels[chosen] == k]
                    wins = int(ranks.sum()) - ranks.size * (ranks.size + 1)  # doubled
                    total += self.weight(k, b, totals) * Fraction(wins, 2)
        return total

    def fits(
        self, labels: NDArray[np.intp], predictions: Floats, score: Fraction, totals: Totals, released: Released
    ) -> bool:
        """Whether labels may have this score, in exact arithmetic."""
        low, high = released.interval(score, self.error(totals))
        return low <= self.worth(labels, predictions, totals) <= high

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of the doubled midranks of all records, each in the column of its class.

        Raises:
            ValueError: A prediction is not finite, or a class has no record.
        """
        if not np.isfinite(predictions).all() or min(totals.counts) == 0:
            raise ValueError("predictions must be finite, and every class must have a record")
        n, classes = totals.n_records, len(totals.counts)
        weights = [Fraction(1, 2 * count * (n - count)) for count in totals.counts]
        unit = math.lcm(*(weight.denominator for weight in weights))
        columns = [
            doubled_midranks(predictions[:, k]).astype(object) * int(weight * unit) for k, weight in enumerate(weights)
        ]
        least = sum(
            weight * count * (count + 1) for weight, count in zip(weights, totals.counts, strict=True)
        )  # of the sums of midranks
        low, high = released.interval(score, self.error(totals))
        return Reading(
            coefficients=np.stack(columns, axis=1),
            low=(low * classes + least) * unit,
            high=(high * classes + least) * unit,
        )


@attrs.frozen(kw_only=True)
class PairwiseAuc(MacroAuc):
    """The mean over the pairs of classes of the AUC of one against the other, each in its own column."""

    sums = False
    score = scikit_learn("roc_auc_score", multi_class="ovo", average="macro")

    def weight(self, k: int, b: int, totals: Totals) -> Fraction:
        """Return what a record of class k above one of class b in column k is worth."""
        classes = len(totals.counts)
        return Fraction(1, classes * (classes - 1) * totals.counts[k] * totals.counts[b])

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Tell nothing: which records are compared depends on their labels.

        Raises:
            ValueError: Always.
        """
        raise ValueError("a mean over pairs of classes is no function of a sum over the records")

    def readings(
        self,
        predictions: Floats,
        score: Fraction,
        totals: Totals,
        released: Released,
        near: NDArray[np.intp] | None = None,
    ) -> tuple[Reading, ...]:
        """Return none: an answer bounds no sum, and only whether labels fit it can be said."""
        return ()
