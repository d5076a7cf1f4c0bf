"""Means over the records of a cost per record: log-loss, squared and absolute error of probabilities.

``N score = sum_i cost(p_i, 0) + sum_i y_i (cost(p_i, 1) - cost(p_i, 0))``: linear in the labels. Coefficients are real
numbers; they are held to ``2**-60`` and the interval pays for their rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, ScoredMetric, Totals, exact

__all__ = ["MeanCost", "log_costs", "squared_costs"]

_SCALE = 60
_CLIP = float(np.finfo(np.float64).eps)


def log_costs(predictions: Floats) -> tuple[Floats, Floats]:
    """Return what labels 0 and 1 cost, clipped as scikit-learn clips doubles.

    Raises:
        ValueError: A prediction is no probability.
    """
    _check_probabilities(predictions)
    inside = np.clip(predictions, _CLIP, 1 - _CLIP)
    return -np.log(1 - inside), -np.log(inside)


def squared_costs(predictions: Floats) -> tuple[Floats, Floats]:
    """Return the squared errors for labels 0 and 1 (Brier score, mean squared error).

    Raises:
        ValueError: A prediction is not finite.
    """
    if not np.isfinite(predictions).all():
        raise ValueError("predictions must be finite")
    return predictions**2, (1 - predictions) ** 2


@attrs.frozen(kw_only=True)
class MeanCost(ScoredMetric):
    """The mean over the records of a cost, computed in doubles in any order of additions.

    Attributes:
        costs: What labels 0 and 1 cost for every prediction, each correct to eight units in the last place.
    """

    costs: Callable[[Floats], tuple[Floats, Floats]]

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of the differences of costs over the positives, in units of ``2**-60``.

        Raises:
            ValueError: The predictions cannot be scored.
        """
        zero, one = self.costs(np.asarray(predictions, dtype=np.float64))
        n = totals.n_records
        first, gaps = exact(zero, _SCALE), exact(one, _SCALE) - exact(zero, _SCALE)
        # Costs are not negative, so the sum's own rounding is relative to the score (N additions, in any order).
        low, high = released.interval(score, (n + 16) * UNIT * abs(score))
        # Every cost here and in the scorer is correct to eight ulp, then rounded to the grid.
        largest = exact(np.maximum(zero, one), _SCALE).sum()
        slack = 16 * UNIT * int(largest) + 2 * n
        base, unit = int(first.sum()), n * 2**_SCALE
        return Reading(coefficients=gaps, low=low * unit - base - slack, high=high * unit - base + slack)


def _check_probabilities(predictions: Floats) -> None:
    if not ((predictions >= 0) & (predictions <= 1)).all():
        raise ValueError("predictions must be probabilities between 0 and 1")
