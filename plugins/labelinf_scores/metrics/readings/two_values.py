"""A metric of two classes, asked with predictions 0 and 1 alone: every one is some function of the true positives.

Ranks of two values are two tie groups, so that the AUC is the balanced accuracy and NDCG mixes two mean discounts; a
weighted kappa of two classes is the plain one; averages over classes are sums of two hits. All that reads counts, and
all that narrows rounded counts down, therefore reads them too (M9).
"""

from __future__ import annotations

import abc
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.classes import ClassMetric
from labelinf_scores.metrics.readings.counts import BalancedAccuracy, CohenKappa, ConfusionMetric, Youden
from labelinf_scores.metrics.readings.discounts import SCALE, Ndcg, discount_sums
from labelinf_scores.metrics.readings.grades import QuadraticKappa
from labelinf_scores.metrics.readings.ranks import Gini, RocAuc

__all__ = ["counter", "noise"]


def counter(metric: ScoredMetric | None) -> ConfusionMetric | None:
    """Return the metric of the confusion matrix that it is of predictions 0 and 1; None where none is known."""
    if isinstance(metric, ConfusionMetric):
        return metric
    if isinstance(metric, RocAuc):
        return _TwoRanks(metric=metric)
    if isinstance(metric, Ndcg):
        return _TwoDiscounts(metric=metric)
    if isinstance(metric, QuadraticKappa):
        return _TwoGrades(metric=metric)
    if isinstance(metric, ClassMetric) and type(metric).statistic is ClassMetric.statistic:
        return _TwoHits(metric=metric)
    return None


def noise(metric: ScoredMetric, totals: Totals) -> tuple[float, float]:
    """Return the noise below which every label comes out, and the noise that hides some for ever (M18, M40).

    As the metric knows them; of classes and grades of two kinds, which take no other predictions than 0 and 1, also as
    what reads their counts knows them.
    """
    floor, enough = metric.floor(totals), metric.enough(totals)
    counts = counter(metric) if metric.rows in (Rows.CLASSES, Rows.GRADES) and len(totals.counts) == 2 else None
    if counts is None:
        return floor, enough
    return max(floor, counts.floor(totals)), min(enough, counts.enough(totals))


@attrs.frozen(kw_only=True)
class _TwoValued(ConfusionMetric):
    """A metric that takes more than predictions 0 and 1, restricted to them: linear in the true positives of a set."""

    steps_at_ends: ClassVar[bool] = True
    metric: ScoredMetric

    def library(self, labels: NDArray[np.intp], hard: NDArray[np.intp]) -> float:
        """Return its own score."""
        return self.metric.score(labels, hard.astype(np.float64))

    @abc.abstractmethod
    def rounding(self, totals: Totals) -> Fraction:
        """Return the arithmetic error that the metric proves of itself."""


@attrs.frozen(kw_only=True)
class _TwoRanks(_TwoValued):
    metric: RocAuc

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return recall and specificity, averaged; of the Gini coefficient added up, less one."""
        plain = Youden() if isinstance(self.metric, Gini) else BalancedAccuracy()
        return plain.link(a, s, totals)

    def rounding(self, totals: Totals) -> Fraction:
        """Return that of the AUC, twice for the Gini coefficient."""
        return 2 * self.metric.off(totals, Released())


@attrs.frozen(kw_only=True)
class _TwoDiscounts(_TwoValued):
    metric: Ndcg

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return the mean discount of the first s ranks for the true positives, of the others for the rest."""
        sums, n = discount_sums(totals.n_records, self.metric.k), totals.n_records
        above = Fraction(a * sums[s], s) if s else Fraction(0)
        below = Fraction((totals.n_positive - a) * (sums[n] - sums[s]), n - s) if s < n else Fraction(0)
        return (above + below) / (1 << SCALE) / self.metric.ideal(totals)

    def rounding(self, totals: Totals) -> Fraction:
        """Return that of two tie groups, and of the discounts here."""
        return self.metric.off(2, totals, Released()) + UNIT


@attrs.frozen(kw_only=True)
class _TwoGrades(_TwoValued):
    metric: QuadraticKappa

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return Cohen's kappa."""
        return CohenKappa().link(a, s, totals)

    def rounding(self, totals: Totals) -> Fraction:
        """Return that of a quotient of at most two."""
        return 3 * self.metric.off(totals)


@attrs.frozen(kw_only=True)
class _TwoHits(_TwoValued):
    metric: ClassMetric

    def link(self, a: int, s: int, totals: Totals) -> Fraction:
        """Return what hits of both classes add up to."""
        zero, one = self.metric.weights((totals.n_records - s, s), totals)
        return a * one + (totals.n_negative - s + a) * zero

    def rounding(self, totals: Totals) -> Fraction:
        """Return that of an average of two."""
        return self.metric.rounding(2)
