"""A mean of log-losses in which records weigh differently, as far as the weights were measured.

``score = level + sum_i w_i (cost(p_i, y_i) - ln 2)``: with one half predicted everywhere the score is the level,
whatever the labels. So weights matter for the records alone that a query asks about, and so does their error.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals, exact

__all__ = ["WeightedLogLoss"]

_SCALE = 60
_HALF = 0.5


@attrs.frozen(kw_only=True)
class WeightedLogLoss(ScoredMetric):
    """A weighted log-loss of two classes.

    Attributes:
        weights: What every record's cost counts for, sign and base included; zero where it is not scored.
        level: The score of one half everywhere.
        error: How far a weight, or the level, may be off.
    """

    rows = Rows.COSTS
    higher = False
    weights: tuple[float, ...] = ()
    level: float = 0.0
    error: float = 0.0

    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return the score that the weights make."""
        costs = costs_of(predictions)
        apart = costs[np.arange(labels.size), labels] - np.log(2)
        return float(self.level + (np.array(self.weights) * apart).sum())

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``; they must be probabilities."""
        if problem := super().fault(predictions, n_records):
            return problem
        inside = (np.asarray(predictions) > 0).all() and (np.asarray(predictions) < 1).all()
        return "" if inside else "predictions must be probabilities between 0 and 1."

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the weighted costs beyond the level, in units of ``2**-60``.

        Raises:
            ValueError: The predictions cannot be scored.
        """
        if fault := self.fault(predictions, totals.n_records):
            raise ValueError(fault.rstrip("."))
        apart = costs_of(predictions) - np.log(2)
        apart[predictions == _HALF] = 0.0
        low, high = released.interval(score - Fraction(self.level), Fraction(0))
        sizes = float(np.abs(apart).max(axis=1).sum())
        # Weights and level as measured; the scorer's own sum, and the costs here and there, in doubles.
        arithmetic = 4 * (totals.n_records + 16) * float(UNIT) * (1 + abs(self.level) + abs(float(score)))
        slack = Fraction(self.error * (sizes + 1) + arithmetic) * 2**_SCALE + 2
        table = np.stack([exact(np.array(self.weights) * apart[:, k], _SCALE) for k in (0, 1)], axis=1)
        return Reading(coefficients=table, low=low * 2**_SCALE - slack, high=high * 2**_SCALE + slack)


def costs_of(predictions: Floats) -> NDArray[np.float64]:
    """Return what labels 0 and 1 cost, shape ``(n, 2)``."""
    return np.stack([-np.log1p(-predictions), -np.log(predictions)], axis=1)
