"""Metrics of the confusion matrix: functions of the number of true positives, once class totals are known.

A submission predicts a set S of ``s`` records positive; the score is ``g(a)`` with ``a = |S and positives|``, and every
link ``g`` is strictly monotone for ``0 < s < N`` (statement M6). So an answer tells which counts ``a`` it may have
come from: those whose ``g(a)``, computed exactly, lies where the answer does. A metric is its link and the function of
scikit-learn that computes it.
"""

from __future__ import annotations

import abc
import bisect
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings import classes
from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = [
    "F1",
    "F2",
    "Accuracy",
    "BalancedAccuracy",
    "CohenKappa",
    "ConfusionMetric",
    "ErrorRate",
    "FBeta",
    "Jaccard",
    "Lift",
    "Matthews",
    "Precision",
    "Recall",
    "Specificity",
    "Youden",
]

_ERROR = 16 * UNIT  # a handful of operations in doubles, relative to max(1, score); seen: at most 3.1e-16


def _ratio(top: int | Fraction, bottom: int | Fraction) -> Fraction:
    return Fraction(top) / Fraction(bottom) if bottom else Fraction(0)  # scikit-learn's zero division


@attrs.frozen(kw_only=True)
class ConfusionMetric(ScoredMetric):
    """A metric of hard predictions 0 and 1.

    Attributes:
        threshold: Predictions of this value or more count as 1; the host's rule, public.
        of_many: What goes by the same name where there are more than two classes; None: nothing does.
        steps_at_ends: Whether the smallest and the largest step of the link, for any set, are the first or the last;
            checked by rule.
    """

    rows = Rows.COUNTS
    steps_at_ends: ClassVar[bool] = False
    threshold: ClassVar[float] = 0.5
    of_many: ClassVar[type[classes.ClassMetric] | None] = None
    extent = 1.0  # with a class that may be empty, one label decides most ratios

    def of_classes(self, n_classes: int) -> ScoredMetric:
        """Return this metric, or what goes by its name of more than two classes."""
        return self if n_classes == 2 or self.of_many is None else self.of_many()

    @abc.abstractmethod
    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return the score, exactly: of ``a`` true positives among ``s`` predicted ones; monotone in ``a``."""

    @abc.abstractmethod
    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return the library's score of predictions 0 and 1."""

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return the library's own score of the predictions at the threshold."""
        return float(self.library(labels, (predictions >= self.threshold).astype(np.intp)))

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return the interval of the number of true positives.

        Raises:
            ValueError: A prediction is no number, or no count of true positives gives this score.
        """
        if np.isnan(predictions).any():
            raise ValueError("predictions must be numbers")
        chosen = predictions >= self.threshold
        s = int(np.count_nonzero(chosen))
        low, high = released.interval(score, self.rounding(totals) * max(Fraction(1), abs(score)))
        first, last = self.counts_between(low, high, s, totals)
        if first > last:
            raise ValueError("no number of true positives gives this score")
        return Reading(coefficients=chosen.astype(np.int64), low=Fraction(first), high=Fraction(last))

    def step(self, s: int, totals: Totals, *, largest: bool = False) -> Fraction:
        """Return the smaller, or the larger, of the first and the last step of the link, for s records, 0 < s < N."""
        least, most = max(0, s - totals.n_negative), min(s, totals.n_positive)
        ends = (least, least + 1), (most - 1, most)
        steps = [abs(self.link(b, s, totals) - self.link(a, s, totals)) for a, b in ends]
        return max(steps) if largest else min(steps)

    def values(self, totals: Totals) -> float:
        """Return ``min(P, n) + 1``: the score is a function of the true positives (M39)."""
        return min(totals.n_positive, totals.n_negative) + 1

    def floor(self, totals: Totals) -> float:
        """Return half the step of a set of one record (M40); of precision that is one half."""
        return float(self.step(1, totals) / 2)

    def enough(self, totals: Totals) -> float:
        """Return half the largest step, if that is at an end: a positive and a negative exchanged move one count (M18).

        Of links with their steps at the ends, that is; infinity for others.
        """
        if not self.steps_at_ends:
            return float("inf")
        sizes = (s for s in self.steepest(totals) if 0 < s < totals.n_records)
        return max(float(self.step(s, totals, largest=True) / 2) for s in sizes)

    def steepest(self, totals: Totals) -> Iterable[int]:
        """Return sizes of sets, one of which has the largest step: 1, N - 1 or P; checked by rule."""
        return 1, totals.n_positive, totals.n_records - 1

    def on_few(self, n_records: int) -> ConfusionMetric:
        """Return the metric that this one is tried as on a few records."""
        return self

    def error_bound(self, totals: Totals) -> Fraction:
        """Return the most by which the library's score is off, and the slack that intervals allow for rounding."""
        largest = max(Fraction(1), abs(self.link(1, 1, totals)), abs(self.link(0, 1, totals)))
        return (self.rounding(totals) + 4 * UNIT) * largest

    def rounding(self, totals: Totals) -> Fraction:
        """Return the largest error of the library's arithmetic, relative to scores above one."""
        return _ERROR

    def counts_between(self, low: Fraction, high: Fraction, s: int, totals: Totals) -> tuple[int, int]:
        """Return the least and the largest count whose score lies between; the first is larger when none does."""
        least, most = max(0, s - totals.n_negative), min(s, totals.n_positive)
        if self.link(most, s, totals) >= self.link(least, s, totals):
            first = _first(lambda a: self.link(a, s, totals) >= low, least, most)
            return first, _first(lambda a: self.link(a, s, totals) > high, least, most) - 1
        first = _first(lambda a: self.link(a, s, totals) <= high, least, most)
        return first, _first(lambda a: self.link(a, s, totals) < low, least, most) - 1


def _first(holds: Any, low: int, high: int) -> int:
    """Return the first of ``low .. high`` for which a monotone condition holds; ``high + 1`` when it never does."""
    return low + bisect.bisect_left(range(low, high + 1), True, key=holds)


@attrs.frozen(kw_only=True)
class Accuracy(ConfusionMetric):
    """The share of records predicted right."""

    steps_at_ends = True
    of_many = classes.ClassAccuracy
    library = scikit_learn("accuracy_score")

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``(n - s + 2a) / N``."""
        return Fraction(totals.n_negative - s + 2 * a, totals.n_records)

    def sensitivity(self, n_records: int) -> float:
        """Return ``1 / N``, whatever the query."""
        return 1 / n_records


@attrs.frozen(kw_only=True)
class ErrorRate(Accuracy):
    """The share of records predicted wrong: zero-one loss, Hamming loss."""

    higher = False
    of_many = classes.ClassError
    library = scikit_learn("zero_one_loss")

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return one minus the accuracy."""
        return 1 - Fraction(totals.n_negative - s + 2 * a, totals.n_records)


@attrs.frozen(kw_only=True)
class Precision(ConfusionMetric):
    """The share of positives among those predicted positive."""

    steps_at_ends = True
    library = scikit_learn("precision_score", zero_division=0)

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``a / s``."""
        return _ratio(a, s)


@attrs.frozen(kw_only=True)
class Lift(Precision):
    """Precision over the share of positives; scikit-learn's precision divided by it."""

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``a N / (s P)``."""
        return _ratio(a, s) * Fraction(totals.n_records, totals.n_positive)

    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return scikit-learn's precision over the mean label."""
        return float(super().library(labels, hard) / labels.mean())

    def sensitivity(self, n_records: int) -> float:
        """Return N: one positive alone on top is a lift of N."""
        return float(n_records)


@attrs.frozen(kw_only=True)
class Recall(ConfusionMetric):
    """The share of positives that are predicted positive."""

    steps_at_ends = True
    library = scikit_learn("recall_score", zero_division=0)

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``a / P``."""
        return Fraction(a, totals.n_positive)


@attrs.frozen(kw_only=True)
class Specificity(ConfusionMetric):
    """The share of negatives that are predicted negative."""

    steps_at_ends = True
    library = scikit_learn("recall_score", pos_label=0, zero_division=0)

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``(n - s + a) / n``."""
        return Fraction(totals.n_negative - s + a, totals.n_negative)


@attrs.frozen(kw_only=True)
class BalancedAccuracy(ConfusionMetric):
    """The mean of recall and specificity."""

    steps_at_ends = True
    of_many: ClassVar[type[classes.ClassMetric] | None] = classes.ClassBalancedAccuracy
    library = scikit_learn("balanced_accuracy_score")

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``(a / P + (n - s + a) / n) / 2``."""
        right = Fraction(totals.n_negative - s + a, totals.n_negative)
        return (Fraction(a, totals.n_positive) + right) / 2


@attrs.frozen(kw_only=True)
class Youden(BalancedAccuracy):
    """Recall plus specificity minus one: balanced accuracy, adjusted for chance."""

    of_many = None
    library = scikit_learn("balanced_accuracy_score", adjusted=True)
    extent = 2.0

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return twice the balanced accuracy minus one."""
        right = Fraction(totals.n_negative - s + a, totals.n_negative)
        return Fraction(a, totals.n_positive) + right - 1


@attrs.frozen(kw_only=True)
class FBeta(ConfusionMetric):
    """The weighted harmonic mean of precision and recall.

    Attributes:
        beta: Weight of recall against precision, positive.
    """

    steps_at_ends = True
    beta: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``(1 + b^2) a / (s + b^2 P)``."""
        square = Fraction(self.beta) ** 2
        return _ratio((1 + square) * a, s + square * totals.n_positive)

    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return ``sklearn.metrics.fbeta_score``."""
        from sklearn.metrics import fbeta_score

        return float(fbeta_score(labels, hard, beta=self.beta, zero_division=0))


@attrs.frozen(kw_only=True)
class F1(FBeta):
    """The harmonic mean of precision and recall; the Dice coefficient."""

    beta: float = attrs.field(default=1.0, init=False)


@attrs.frozen(kw_only=True)
class F2(FBeta):
    """F-beta with beta = 2."""

    beta: float = attrs.field(default=2.0, init=False)


@attrs.frozen(kw_only=True)
class Jaccard(ConfusionMetric):
    """True positives over all that are positive or predicted so."""

    steps_at_ends = True
    library = scikit_learn("jaccard_score", zero_division=0)

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``a / (s + P - a)``."""
        return _ratio(a, s + totals.n_positive - a)


@attrs.frozen(kw_only=True)
class CohenKappa(ConfusionMetric):
    """Agreement beyond chance."""

    steps_at_ends = True
    of_many = classes.ClassKappa
    library = scikit_learn("cohen_kappa_score", labels=[0, 1])
    extent = 2.0

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return ``(accuracy - chance) / (1 - chance)``."""
        n = totals.n_records
        chance = Fraction(s * totals.n_positive + (n - s) * totals.n_negative, n * n)
        return _ratio(Fraction(totals.n_negative - s + 2 * a, n) - chance, 1 - chance)


@attrs.frozen(kw_only=True)
class Matthews(ConfusionMetric):
    """The correlation of labels and predictions (phi, MCC)."""

    steps_at_ends = True
    of_many = classes.ClassMatthews
    library = scikit_learn("matthews_corrcoef")
    extent = 2.0

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return the coefficient to 2**-80: its denominator is a square root."""
        n = totals.n_records
        top = a * n - s * totals.n_positive
        below = s * totals.n_positive * totals.n_negative * (n - s)
        if below == 0:
            return Fraction(0)
        root = Fraction(math.isqrt((top * top << 160) // below), 2**80)
        return root if top >= 0 else -root
