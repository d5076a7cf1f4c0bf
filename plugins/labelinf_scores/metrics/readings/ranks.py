"""The area under the ROC curve (Gini, Mann and Whitney's U): a sum of midranks.

With ties as scikit-learn treats them (trapezoids, that is midranks ``r_i``), ``2 P n AUC + P (P + 1)`` is the sum of
the *doubled* midranks of the positives: a whole number (statement M12, held by brute force over all weak orders).
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = ["Gini", "RocAuc", "doubled_midranks"]


def doubled_midranks(predictions: Floats) -> NDArray[np.int64]:
    """Return twice the midrank of every prediction, shape ``(n,)``; the least has 2 when nothing is tied with it."""
    _, group, sizes = np.unique(predictions, return_inverse=True, return_counts=True)
    before = np.cumsum(sizes) - sizes
    return np.asarray((2 * before + sizes + 1)[group], dtype=np.int64)


@attrs.frozen(kw_only=True)
class RocAuc(ScoredMetric):
    """ROC AUC of two classes, scored in doubles.

    Raises by :meth:`reading` are for predictions that are no numbers. The scorer's error is at most ``(N + 6) u`` for
    any order of additions (M12 as corrected).
    """

    rows = Rows.RANKS
    ties = "trapezoids, that is midranks, as scikit-learn treats them"
    score = scikit_learn("roc_auc_score")
    extent = 1.0  # with one class empty there is no AUC, and what is shown then is the host's own

    def values(self, totals: Totals) -> float:
        """Return ``2 P n + 1`` times what rounding can make of one of them (M39)."""
        return (2 * totals.n_positive * totals.n_negative + 1) * (2 * totals.n_records + 14)

    def floor(self, totals: Totals) -> float:
        """Return ``(1/P + 1/n) / 4``: one record above all others (M40, corrected)."""
        return (1 / totals.n_positive + 1 / totals.n_negative) / 4

    def enough(self, totals: Totals) -> float:
        """Return ``(N - 1) / (2 P n)``: a positive and a negative exchanged (M18)."""
        return (totals.n_records - 1) / (2 * totals.n_positive * totals.n_negative)

    def off(self, totals: Totals, released: Released) -> Fraction:
        """Return how far a released AUC may be off the exact one."""
        low, high = released.interval(Fraction(1), (totals.n_records + 6) * UNIT * (1 + released.noise))
        return max(high - 1, 1 - low)

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval of whole numbers for the sum of the positives' doubled midranks.

        Raises:
            ValueError: A prediction is not finite.
        """
        if not np.isfinite(predictions).all():
            raise ValueError("predictions must be finite")
        positive, negative = totals.n_positive, totals.n_negative
        off = self.off(totals, released)
        low, high = score - off, score + off
        factor, shift = 2 * positive * negative, positive * (positive + 1)
        return Reading(
            coefficients=doubled_midranks(predictions),
            low=Fraction(math.ceil(low * factor + shift)),
            high=Fraction(math.floor(high * factor + shift)),
        )


@attrs.frozen(kw_only=True)
class Gini(RocAuc):
    """Twice the AUC minus one."""

    extent = 2.0

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return ``2 sklearn.metrics.roc_auc_score - 1``."""
        return float(2 * super().score(labels, predictions) - 1)

    def floor(self, totals: Totals) -> float:
        """Return twice that of the AUC."""
        return 2 * super().floor(totals)

    def enough(self, totals: Totals) -> float:
        """Return twice that of the AUC."""
        return 2 * super().enough(totals)

    def off(self, totals: Totals, released: Released) -> Fraction:
        """Return how far half of one more than it may be off the AUC: half as far, with two more roundings."""
        low, high = released.interval(Fraction(1), 2 * (totals.n_records + 8) * UNIT * (1 + released.noise))
        return max(high - 1, 1 - low) / 2

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return what the AUC tells that it is.

        Raises:
            ValueError: A prediction is not finite.
        """
        return super().reading(predictions, (score + 1) / 2, totals, released)
