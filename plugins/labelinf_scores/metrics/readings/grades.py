"""Weighted kappas of ordered classes: sums of how far every record is off, squared or not (statement M27).

``kappa = 1 - D / E`` with ``D = sum_i |p_i - y_i|^c``, and E what D is on average over the orders of the labels, which
the class totals give. ``cohen_kappa_score`` weighs by places among the classes, so that all of them are passed to it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import (
    UNIT,
    Floats,
    Reading,
    Released,
    Rows,
    ScoredMetric,
    Totals,
    no_classes,
)

__all__ = ["LinearKappa", "QuadraticKappa"]


@attrs.frozen(kw_only=True)
class QuadraticKappa(ScoredMetric):
    """Agreement beyond chance, disagreements weighed by the square of their size.

    Attributes:
        power: What sizes are raised to.
        weighing: scikit-learn's name for it.
    """

    rows = Rows.GRADES
    two_classes = False
    power: ClassVar[int] = 2
    weighing: ClassVar[str] = "quadratic"

    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return ``sklearn.metrics.cohen_kappa_score``."""
        from sklearn.metrics import cohen_kappa_score

        hard = predictions.astype(np.intp)
        classes = np.arange(int(max(labels.max(), hard.max())) + 1)
        return float(cohen_kappa_score(labels, hard, labels=classes, weights=self.weighing))

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``; they must be classes."""
        values = np.asarray(predictions)
        return super().fault(values, n_records) or no_classes(values)

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of disagreements.

        Raises:
            ValueError: A prediction is no class.
        """
        n_classes, n = len(totals.counts), totals.n_records
        if fault := self.fault(predictions, n):
            raise ValueError(fault.rstrip("."))
        if predictions.max() >= n_classes:
            raise ValueError(f"predictions must be classes below {n_classes}")
        hard = predictions.astype(np.int64)
        expected = self.expected(np.bincount(hard, minlength=n_classes), totals)
        low, high = released.interval(score, self.off(totals) * (1 + abs(1 - score)))
        return Reading(coefficients=self.apart(n_classes)[hard], low=(1 - high) * expected, high=(1 - low) * expected)

    def apart(self, n_classes: int) -> NDArray[np.int64]:
        """Return what a prediction costs for a label, shape ``(K, K)``."""
        places = np.arange(n_classes)
        return np.asarray(np.abs(places[:, None] - places) ** self.power, dtype=np.int64)

    def expected(self, sizes: NDArray[np.intp], totals: Totals) -> Fraction:
        """Return E: the sum of disagreements, on average over the orders of the labels."""
        return Fraction(int(sizes @ self.apart(len(sizes)) @ np.array(totals.counts)), totals.n_records)

    def off(self, totals: Totals) -> Fraction:
        """Return the largest error of scikit-learn's quotient, relative to it: two sums of K^2 products in doubles."""
        return (2 * len(totals.counts) ** 2 + 16) * UNIT


@attrs.frozen(kw_only=True)
class LinearKappa(QuadraticKappa):
    """Agreement beyond chance, disagreements weighed by their size."""

    power = 1
    weighing = "linear"
