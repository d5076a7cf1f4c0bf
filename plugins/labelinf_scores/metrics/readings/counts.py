"""Metrics of the confusion matrix: functions of the number of true positives, once class totals are known.

A submission predicts a set S of ``s`` records positive; the score is ``g(a)`` with ``a = |S and positives|``, and every
link ``g`` is strictly increasing for ``0 < s < N`` (statement M6). So an answer tells which counts ``a`` it may have
come from: the interval of those whose ``g(a)``, computed exactly, lies where the answer does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, ScoredMetric, Totals

__all__ = ["LINKS", "ConfusionMetric"]

Link = Callable[[int, int, Totals], Fraction]  # of true positives a, predicted positives s, totals

_ERROR = 16 * UNIT  # a handful of operations in doubles; seen: at most 3.1e-16


def _ratio(top: int | Fraction, bottom: int | Fraction) -> Fraction:
    return Fraction(top) / Fraction(bottom) if bottom else Fraction(0)  # scikit-learn's zero division


def _accuracy(a: int, s: int, t: Totals) -> Fraction:
    return Fraction(t.n_negative - s + 2 * a, t.n_records)


def _recall(a: int, s: int, t: Totals) -> Fraction:
    return Fraction(a, t.n_positive)


def _specificity(a: int, s: int, t: Totals) -> Fraction:
    return Fraction(t.n_negative - s + a, t.n_negative)


def _f_beta(square: int | Fraction) -> Link:
    return lambda a, s, t: _ratio((1 + square) * a, s + square * t.n_positive)


def _kappa(a: int, s: int, t: Totals) -> Fraction:
    n = t.n_records
    chance = Fraction(s * t.n_positive + (n - s) * t.n_negative, n * n)
    return _ratio(_accuracy(a, s, t) - chance, 1 - chance)


def _matthews(a: int, s: int, t: Totals) -> Fraction:
    """Return the coefficient to 2**-80: its denominator is a square root."""
    top = a * t.n_records - s * t.n_positive
    below = s * t.n_positive * t.n_negative * (t.n_records - s)
    if below == 0:
        return Fraction(0)
    root = Fraction(math.isqrt((top * top << 160) // below), 2**80)
    return root if top >= 0 else -root


#: score as a function of (true positives, predicted positives, totals), by the name a user gives
LINKS: dict[str, Link] = {
    "accuracy": _accuracy,
    "error": lambda a, s, t: 1 - _accuracy(a, s, t),
    "precision": lambda a, s, t: _ratio(a, s),
    "recall": _recall,
    "specificity": _specificity,
    "balanced-accuracy": lambda a, s, t: (_recall(a, s, t) + _specificity(a, s, t)) / 2,
    "f1": _f_beta(1),
    "f2": _f_beta(4),
    "jaccard": lambda a, s, t: _ratio(a, s + t.n_positive - a),
    "cohen-kappa": _kappa,
    "mcc": _matthews,
}


@attrs.frozen(kw_only=True)
class ConfusionMetric(ScoredMetric):
    """A metric of hard predictions 0 and 1.

    Attributes:
        link: The score as a function of the counts.
        threshold: Predictions of this value or more count as 1; the host's rule, public.
    """

    link: Link
    threshold: float = 0.5

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return the interval of the number of true positives.

        Raises:
            ValueError: A prediction is no number, or no count of true positives gives this score.
        """
        if np.isnan(predictions).any():
            raise ValueError("predictions must be numbers")
        chosen = predictions >= self.threshold
        s = int(np.count_nonzero(chosen))
        least, most = max(0, s - totals.n_negative), min(s, totals.n_positive)
        low, high = released.interval(score, _ERROR)
        fitting = [a for a in range(least, most + 1) if low <= self.link(a, s, totals) <= high]
        if not fitting:
            raise ValueError("no number of true positives gives this score")
        return Reading(coefficients=chosen.astype(np.int64), low=Fraction(fitting[0]), high=Fraction(fitting[-1]))
