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

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, ScoredMetric, Totals

__all__ = ["RocAuc", "doubled_midranks"]


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

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval of whole numbers for the sum of the positives' doubled midranks.

        Raises:
            ValueError: A prediction is not finite.
        """
        if not np.isfinite(predictions).all():
            raise ValueError("predictions must be finite")
        positive, negative = totals.n_positive, totals.n_negative
        low, high = released.interval(score, (totals.n_records + 6) * UNIT)
        factor, shift = 2 * positive * negative, positive * (positive + 1)
        return Reading(
            coefficients=doubled_midranks(predictions),
            low=Fraction(math.ceil(low * factor + shift)),
            high=Fraction(math.floor(high * factor + shift)),
        )
