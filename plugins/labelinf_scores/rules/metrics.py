"""Rules for metrics: what an answer is read as holds for the true labels, whatever is asked, however it is rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from labelinf_core.contracts.components import Rule
from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_scores.metrics import tried
from labelinf_scores.metrics.readings import Reading, Released, Rows, ScoredMetric
from labelinf_scores.metrics.readings.counts import ConfusionMetric
from labelinf_scores.metrics.readings.squares import SquaredResiduals

__all__ = ["RULES"]


def _without_fault(trial: Callable[[ScoredMetric], str]) -> Callable[[object], None]:
    def rule(component: object) -> None:
        fault = trial(belongs(component, ScoredMetric))
        require(not fault, fault)

    return rule


def _gives_the_rows_it_names(component: object) -> None:
    metric = belongs(component, ScoredMetric)
    if metric.rows in (Rows.COSTS, Rows.PRECISIONS, Rows.COLUMNS):
        raise NotApplicableError(
            "its rows are those of its loss or of columns, or its score tells no sum over the records"
        )
    for labels, predictions, totals in tried.asked(metric, np.random.default_rng(4)):
        score = Fraction(tried.scored(metric, labels, predictions))
        told: Reading = metric.reading(predictions, score, totals, Released())
        found = told.coefficients
        if metric.rows is Rows.COUNTS:
            require(np.array_equal(found, predictions), "predicted 0 and 1, its coefficients are not 0 and 1")
        elif metric.rows is Rows.CLASSES:
            hit = np.arange(found.shape[1]) == predictions[:, None]
            require(not found[~hit].any(), "a record counts although it is not predicted right")
        elif metric.rows is Rows.RANKS:
            greater = np.sign(predictions[:, None] - predictions).sum(axis=1)
            apart = np.asarray(found - found[0], dtype=np.int64)
            require(np.array_equal(apart, greater - greater[0]), "its coefficients are not doubled midranks")
        elif metric.rows is Rows.REALS and isinstance(metric, SquaredResiduals) and metric.reach < math.inf:
            same = np.array_equal(
                np.unique(found, return_inverse=True)[1], np.unique(predictions, return_inverse=True)[1]
            )
            require(same, "its coefficients are not in the order of the predictions")
        elif metric.rows is Rows.REALS:
            unit = Fraction(int(found.max())) / Fraction(float(predictions.max()))
            same = all(int(c) == Fraction(float(p)) * unit for c, p in zip(found, predictions, strict=True))
            require(same, "its coefficients are not the predictions in one unit")


def _has_a_monotone_link(component: object) -> None:
    metric = belongs(component, ScoredMetric)
    if not isinstance(metric, ConfusionMetric):
        raise NotApplicableError("it is no metric of the confusion matrix")
    fault = tried.crooked(metric)
    require(not fault, fault)


RULES: tuple[Rule, ...] = (
    ("reads-what-is-true", _without_fault(tried.misread)),
    ("takes-the-values-it-counts", _without_fault(tried.miscounted)),
    ("hides-labels-behind-the-noise-it-says", _without_fault(tried.exposed)),
    ("gives-the-rows-it-names", _gives_the_rows_it_names),
    ("has-a-monotone-link", _has_a_monotone_link),
)  #: what every metric is held to, beside what holds for all components
