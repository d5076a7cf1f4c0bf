"""What a metric says of its own scores, tried out, for ``labelinf plugins check``: trials refute, and permit nothing.

A metric is anybody's code. So it is played on small games: the true labels must fit what an answer is read as, a link
must be strictly monotone, no more values may be seen than are counted, and labels that are exchanged may not show
through the noise that is said to hide them.

Example:
    >>> from labelinf_scores.metrics.readings.counts import F1
    >>> misread(F1())
    ''
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings import HARD, Released, Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric

__all__ = ["asked", "crooked", "exposed", "miscounted", "misread", "scored"]

_SIZES = (7, 30, 129)
_SMALL = 13
_ROUNDING = 1e-9  # by which numbers that were computed may differ more than they do
_LABELLINGS = 32  # with the same totals; enough for two values to be told from three

Game = tuple[NDArray[np.intp], NDArray[np.float64], Totals]  #: labels, predictions and totals


def asked(metric: ScoredMetric, rng: np.random.Generator) -> Iterator[Game]:
    """Yield small games of the rows that the metric takes."""
    classes = 2 if metric.two_classes else 4
    for n_records in (metric.scores_only,) if metric.scores_only else _SIZES:
        labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n_records - classes)]).astype(np.intp)
        totals = Totals(counts=tuple(np.bincount(labels, minlength=classes).tolist()))
        for _ in range(3):
            if metric.rows in HARD:
                predictions = rng.integers(0, 2 if metric.rows is Rows.COUNTS else classes, n_records).astype(
                    np.float64
                )
            else:
                predictions = rng.integers(1, 8, n_records) / 8
            if metric.columns:
                steps = rng.integers(0, 6, (n_records, classes))
                predictions = 1 / classes + 2.0**-30 * steps
            yield labels, predictions, totals


def scored(metric: ScoredMetric, labels: NDArray[np.intp], predictions: NDArray[np.float64]) -> float:
    """Return the metric's score, its warnings silenced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(metric.score(labels.copy(), predictions.copy()))


def misread(metric: ScoredMetric) -> str:
    """Say where the true labels do not fit what an answer is read as; empty where they always do."""
    for labels, predictions, totals in asked(metric, np.random.default_rng(3)):
        score = scored(metric, labels, predictions)
        for decimals in (None, 4, 2):
            printed = Fraction(score) if decimals is None else Fraction(f"{score:.{decimals}f}")
            if not metric.fits(labels, predictions, printed, totals, Released(decimals=decimals)):
                where = "in full" if decimals is None else f"with {decimals} decimals"
                return f"the true labels do not fit a score printed {where}"
    return ""


def miscounted(metric: ScoredMetric) -> str:
    """Say where one query's answers took more values than the metric counts; empty where they never did."""
    rng = np.random.default_rng(5)
    for labels, predictions, totals in itertools.islice(asked(metric, rng), 0, 4, 3):
        said = metric.values(totals)
        if said < _LABELLINGS:
            found = {scored(metric, rng.permutation(labels), predictions) for _ in range(_LABELLINGS)}
            if len(found) > said:
                return f"{len(labels)} records gave {len(found)} values of a score that is said to take {said:g}"
    return ""


def exposed(metric: ScoredMetric) -> str:
    """Say where labels show through the noise that is said to hide them for ever; empty where they never did.

    The labels of two records are exchanged, of the two classes that are hardest to tell apart.
    """
    for labels, predictions, totals in itertools.islice(asked(metric, np.random.default_rng(6)), 3):
        said, most = metric.enough(totals), 0.0
        if metric.floor(totals) > said * (1 + _ROUNDING):
            return f"noise of {said:g} is said to hide labels that are said to be read through more"
        alone = np.where(np.arange(labels.size) == 0, predictions.max(), predictions.min())
        for rows in (predictions, predictions if metric.columns else alone):
            moved = []
            for pair in itertools.combinations(np.flatnonzero(totals.counts), 2):
                other = labels.copy()
                places = [np.flatnonzero(labels == k)[0] for k in pair]
                other[places] = other[places[::-1]]
                moved.append(abs(scored(metric, labels, rows) - scored(metric, other, rows)))
            most = max(most, min(moved))
        if most > 2 * said * (1 + _ROUNDING) + _ROUNDING:
            return f"two labels exchanged moved a score by {most:g}; noise of {said:g} is said to hide which is which"
    return ""


def crooked(metric: ConfusionMetric) -> str:
    """Say where a link is not strictly monotone, or its extreme steps not where it says; empty where all is so."""
    metric = metric.on_few(_SMALL)
    for positive in range(1, _SMALL):
        totals, most = Totals.binary(n_records=_SMALL, n_positive=positive), dict[int, Fraction]()
        for s in range(1, _SMALL):
            counts = range(max(0, s - totals.n_negative), min(s, positive) + 1)
            values = [metric.link(a, s, totals) for a in counts]
            steps = [b - a for a, b in itertools.pairwise(values)]
            where = f"{s} of {_SMALL} predicted positive, {positive} are"
            if not (min(steps) > 0 or max(steps) < 0):
                return f"its link is not strictly monotone: {where}"
            last = sorted((abs(steps[0]), abs(steps[-1])))
            apart = max(last[0] - min(map(abs, steps)), max(map(abs, steps)) - last[1])
            if metric.steps_at_ends and apart > Fraction(1, 2**60):
                return f"its extreme steps are not at its ends: {where}"
            most[s] = last[1]
        told = max(most.get(s, Fraction(0)) for s in metric.steepest(totals))
        if metric.steps_at_ends and max(most.values()) > told + Fraction(1, 2**60):
            return f"its largest step is none of those it names: {positive} of {_SMALL} are positive"
    return ""
