"""Metrics of predicted classes, of any number: sums over the records that are predicted right.

With ``s_k`` records predicted k and ``n_k`` that are, all of them are strictly increasing functions of
``sum_k g_k TP_k``, in which the weights ``g_k`` follow from the predictions and the class totals: 1 for accuracy,
kappa and MCC (M28, M29), ``1 / (s_k + n_k)`` for the macro average of F1 (M30). Averages run over the classes that
occur in labels or predictions, as scikit-learn's do where no ``labels=`` is passed.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

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
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = [
    "ClassAccuracy",
    "ClassBalancedAccuracy",
    "ClassError",
    "ClassKappa",
    "ClassMatthews",
    "ClassMetric",
    "MacroF1",
    "MicroF1",
    "WeightedF1",
]


@attrs.frozen(kw_only=True)
class ClassMetric(ScoredMetric):
    """A metric of predicted classes 0, 1, ..., K - 1."""

    rows = Rows.CLASSES
    two_classes = False
    extent = 1.0

    @abc.abstractmethod
    def weights(self, sizes: Sequence[int], totals: Totals) -> list[Fraction]:
        """Return ``g_k``: what one record of class k that is predicted right adds to the statistic."""

    def statistic(self, score: Fraction, sizes: Sequence[int], totals: Totals) -> Fraction:
        """Return the statistic that has this exact score; strictly monotone. The score itself, by default."""
        return score

    @staticmethod
    def rounding(n_classes: int) -> Fraction:
        """Return the largest error of the library's arithmetic, relative to scores above one."""
        return 8 * (n_classes + 2) * UNIT

    @abc.abstractmethod
    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return the library's score of predicted classes."""

    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return the library's own score."""
        return float(self.library(labels, predictions.astype(np.intp)))

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``; they must be classes."""
        values = np.asarray(predictions)
        return super().fault(values, n_records) or no_classes(values)

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return the interval of the weighted number of records predicted right, in units in which it is whole.

        Raises:
            ValueError: A prediction is no class.
        """
        n_classes = len(totals.counts)
        if fault := self.fault(predictions, totals.n_records):
            raise ValueError(fault.rstrip("."))
        if predictions.max() >= n_classes:
            raise ValueError(f"predictions must be classes below {n_classes}")
        hard = predictions.astype(np.intp)
        sizes = np.bincount(hard, minlength=n_classes).tolist()
        weights = self.weights(sizes, totals)
        unit = math.lcm(*(weight.denominator for weight in weights))
        low, high = released.interval(score, self.rounding(n_classes) * max(Fraction(1), abs(score)))
        ends = sorted((self.statistic(low, sizes, totals) * unit, self.statistic(high, sizes, totals) * unit))
        whole = [int(weight * unit) for weight in weights]
        small = max(whole) * totals.n_records < 2**62
        table = np.zeros((hard.size, n_classes), dtype=np.int64 if small else object)
        table[np.arange(hard.size), hard] = np.array(whole, dtype=table.dtype)[hard]
        return Reading(coefficients=table, low=ends[0], high=ends[1])


@attrs.frozen(kw_only=True)
class ClassAccuracy(ClassMetric):
    """The share of records predicted right."""

    library = scikit_learn("accuracy_score")

    def weights(self, sizes: Sequence[int], totals: Totals) -> list[Fraction]:
        """Return ``1 / N`` for all."""
        return [Fraction(1, totals.n_records)] * len(sizes)

    def sensitivity(self, n_records: int) -> float:
        """Return ``1 / N``, whatever the query."""
        return 1 / n_records

    def floor(self, totals: Totals) -> float:
        """Return ``1 / (2 N)``: one record predicted as one class, then as another."""
        return 1 / (2 * totals.n_records)


@attrs.frozen(kw_only=True)
class ClassError(ClassAccuracy):
    """The share of records predicted wrong."""

    higher = False
    library = scikit_learn("zero_one_loss")

    def statistic(self, score: Fraction, sizes: Sequence[int], totals: Totals) -> Fraction:
        """Return the accuracy."""
        return 1 - score


@attrs.frozen(kw_only=True)
class MicroF1(ClassAccuracy):
    """The F1 of all classes counted together: of one label each, the accuracy."""

    library = scikit_learn("f1_score", average="micro", zero_division=0)


@attrs.frozen(kw_only=True)
class ClassKappa(ClassAccuracy):
    """Agreement beyond chance, no class nearer to another (M29)."""

    library = scikit_learn("cohen_kappa_score")

    def statistic(self, score: Fraction, sizes: Sequence[int], totals: Totals) -> Fraction:
        """Return the accuracy: ``kappa (1 - chance) + chance``."""
        agreed = sum(s * n for s, n in zip(sizes, totals.counts, strict=True))
        chance = Fraction(agreed, totals.n_records**2)
        return score * (1 - chance) + chance

    def sensitivity(self, n_records: int) -> float:
        """Return the whole range, -1 to 1."""
        return 2.0


@attrs.frozen(kw_only=True)
class ClassMatthews(ClassAccuracy):
    """The correlation of labels and predictions, of any number of classes (M29)."""

    library = scikit_learn("matthews_corrcoef")

    def statistic(self, score: Fraction, sizes: Sequence[int], totals: Totals) -> Fraction:
        """Return the accuracy, to ``2**-80``: the denominator is a square root.

        All records predicted alike, it is what the class totals say, and the score says nothing.
        """
        n = totals.n_records
        agreed = sum(s * k for s, k in zip(sizes, totals.counts, strict=True))
        below = (n * n - sum(s * s for s in sizes)) * (n * n - sum(k * k for k in totals.counts))
        root = Fraction(math.isqrt(below << 160), 2**80)
        return (score * root + agreed) / n**2

    def sensitivity(self, n_records: int) -> float:
        """Return the whole range, -1 to 1."""
        return 2.0


@attrs.frozen(kw_only=True)
class ClassBalancedAccuracy(ClassMetric):
    """The mean recall of the classes that have records."""

    def weights(self, sizes: Sequence[int], totals: Totals) -> list[Fraction]:
        """Return ``1 / (K n_k)``, over the classes that have records."""
        present = sum(count > 0 for count in totals.counts)
        return [Fraction(1, present * count) if count else Fraction(0) for count in totals.counts]

    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return the macro average of ``sklearn.metrics.recall_score`` over the classes in the labels."""
        from sklearn.metrics import recall_score

        return float(recall_score(labels, hard, labels=np.unique(labels), average="macro", zero_division=0))


@attrs.frozen(kw_only=True)
class MacroF1(ClassMetric):
    """The plain mean of the classes' F1 (M30): its answers are counters of several classes at once."""

    library = scikit_learn("f1_score", average="macro", zero_division=0)

    def weights(self, sizes: Sequence[int], totals: Totals) -> list[Fraction]:
        """Return ``2 / (K (s_k + n_k))``, K of the classes that occur."""
        both = [s + n for s, n in zip(sizes, totals.counts, strict=True)]
        present = sum(size > 0 for size in both)
        return [Fraction(2, present * size) if size else Fraction(0) for size in both]


@attrs.frozen(kw_only=True)
class WeightedF1(ClassMetric):
    """The mean of the classes' F1 by their shares of the labels."""

    library = scikit_learn("f1_score", average="weighted", zero_division=0)

    def weights(self, sizes: Sequence[int], totals: Totals) -> list[Fraction]:
        """Return ``2 n_k / (N (s_k + n_k))``."""
        both = zip(sizes, totals.counts, strict=True)
        return [Fraction(2 * n, totals.n_records * (s + n)) if s + n else Fraction(0) for s, n in both]
