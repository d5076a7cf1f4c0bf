"""Rules for metrics: what an answer is read as holds for the true labels, whatever is asked, however it is rounded."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from labelinf_core.contracts.components import Rule
from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_scores.metrics.readings import Reading, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric
from labelinf_scores.rules.games import Labels

__all__ = ["RULES"]

_SIZES = (7, 30, 129)
_SMALL = 13


def _asked(metric: ScoredMetric, rng: np.random.Generator) -> Iterator[tuple[Labels, Any, Totals]]:
    """Yield labels, predictions and totals."""
    classes = 2 if metric.two_classes else 4
    for n_records in _SIZES:
        labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n_records - classes)]).astype(np.intp)
        totals = Totals(counts=tuple(np.bincount(labels, minlength=classes).tolist()))
        for _ in range(3):
            coarse = rng.integers(1, 8, n_records) / 8
            predictions = np.where(rng.random(n_records) < 0.5, 0.0, 1.0) if metric.rows is Rows.COUNTS else coarse
            yield labels, predictions, totals


def _scored(metric: ScoredMetric, labels: Labels, predictions: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(metric.score(labels.copy(), predictions.copy()))


def _reads_what_is_true(component: object) -> None:
    metric = belongs(component, ScoredMetric)
    for labels, predictions, totals in _asked(metric, np.random.default_rng(3)):
        score = _scored(metric, labels, predictions)
        for decimals in (None, 4, 2):
            printed = Fraction(score) if decimals is None else Fraction(f"{score:.{decimals}f}")
            told = metric.reading(predictions, printed, totals, Released(decimals=decimals))
            where = "in full" if decimals is None else f"with {decimals} decimals"
            require(told.holds(labels), f"the true labels do not fit a score printed {where}")


def _gives_the_rows_it_names(component: object) -> None:
    metric = belongs(component, ScoredMetric)
    if metric.rows is Rows.COSTS:
        raise NotApplicableError("its rows are those of its loss")
    for labels, predictions, totals in _asked(metric, np.random.default_rng(4)):
        score = Fraction(_scored(metric, labels, predictions))
        told: Reading = metric.reading(predictions, score, totals, Released())
        found = told.coefficients
        if metric.rows is Rows.COUNTS:
            require(np.array_equal(found, predictions), "predicted 0 and 1, its coefficients are not 0 and 1")
        elif metric.rows is Rows.RANKS:
            greater = np.sign(predictions[:, None] - predictions).sum(axis=1)
            apart = np.asarray(found - found[0], dtype=np.int64)
            require(np.array_equal(apart, greater - greater[0]), "its coefficients are not doubled midranks")
        elif metric.rows is Rows.REALS:
            unit = Fraction(int(found.max())) / Fraction(float(predictions.max()))
            same = all(int(c) == Fraction(float(p)) * unit for c, p in zip(found, predictions, strict=True))
            require(same, "its coefficients are not the predictions in one unit")


def _has_a_monotone_link(component: object) -> None:
    metric = belongs(component, ScoredMetric)
    if not isinstance(metric, ConfusionMetric):
        raise NotApplicableError("it is no metric of the confusion matrix")
    for positive in range(1, _SMALL):
        totals = Totals.binary(n_records=_SMALL, n_positive=positive)
        for s in range(1, _SMALL):
            counts = range(max(0, s - totals.n_negative), min(s, positive) + 1)
            values = [metric.link(a, s, totals) for a in counts]
            steps = [b - a for a, b in itertools.pairwise(values)]
            where = f"{s} of {_SMALL} predicted positive, {positive} are"
            require(min(steps) > 0 or max(steps) < 0, f"its link is not strictly monotone: {where}")
            last = sorted((abs(steps[0]), abs(steps[-1])))
            apart = max(last[0] - min(map(abs, steps)), max(map(abs, steps)) - last[1])
            ends = apart <= Fraction(1, 2**60)
            require(ends or not metric.steps_at_ends, f"its extreme steps are not at its ends: {where}")


RULES: tuple[Rule, ...] = (
    ("reads-what-is-true", _reads_what_is_true),
    ("gives-the-rows-it-names", _gives_the_rows_it_names),
    ("has-a-monotone-link", _has_a_monotone_link),
)  #: what every metric is held to, beside what holds for all components
