"""A loss is a metric whose link is the mean: log-loss, Brier score, and every other additive loss.

``N score = sum_i cost(p_i, 0) + sum_i y_i (cost(p_i, 1) - cost(p_i, 0))``: linear in the labels. Coefficients are real
numbers; they are held to ``2**-60`` and the interval pays for their rounding.
"""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Loss, of_channel
from labelinf_scores.arithmetic import make_arithmetic
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals, exact
from labelinf_scores.metrics.readings.library import scikit_learn

__all__ = ["BrierScore", "LogLossScore", "MeanLoss"]

_SCALE = 60
_CLIP = float(np.finfo(np.float64).eps)


@attrs.frozen(kw_only=True)
class MeanLoss(ScoredMetric):
    """The mean over the records of an additive loss, computed in doubles in any order of additions.

    Attributes:
        loss: What is averaged; its costs are correct to eight units in the last place.
    """

    rows = Rows.COSTS
    higher = False
    loss: Loss = attrs.field(factory=LogLoss)

    @property
    def additive(self) -> AdditiveLoss:
        """The loss, as this room knows it.

        Raises:
            InputError: It is another channel's.
        """
        return of_channel(self.loss, AdditiveLoss, "loss", "score")

    def score(self, labels: NDArray[np.intp], predictions: Floats) -> float:
        """Return the mean, in doubles."""
        return float(self.additive.score(labels, predictions, make_arithmetic("float64")))

    def sensitivity(self, n_records: int) -> float:
        """Return ``L / N`` without any clip."""
        return self.additive.span(0.0) / n_records

    def costs(self, predictions: Floats) -> tuple[Floats, Floats]:
        """Return what labels 0 and 1 cost, clipped as scikit-learn clips doubles.

        Raises:
            ValueError: A prediction cannot be scored; the message is one clause.
        """
        if fault := self.additive.fault(predictions, len(predictions), 2):
            raise ValueError(fault.rstrip("."))
        if self.additive.is_log_loss:
            predictions = np.clip(predictions, _CLIP, 1 - _CLIP)
        numbers = make_arithmetic("float64")
        with numbers.context():
            both = np.asarray(self.additive.costs(numbers.convert(predictions), numbers), dtype=np.float64)
        return both[:, 0], both[:, 1]

    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return an interval for the sum of the differences of costs over the positives, in units of ``2**-60``.

        Raises:
            ValueError: The predictions cannot be scored.
        """
        zero, one = self.costs(np.asarray(predictions, dtype=np.float64))
        n = totals.n_records
        first = exact(zero, _SCALE)
        gaps = exact(one, _SCALE) - first
        # Costs are not negative, so the sum's own rounding is relative to the score (N additions, in any order).
        low, high = released.interval(score, (n + 16) * UNIT * abs(score))
        # Every cost here and in the scorer is correct to eight ulp, then rounded to the grid.
        largest = exact(np.maximum(zero, one), _SCALE).sum()
        slack = 16 * UNIT * int(largest) + 2 * n
        base, unit = int(first.sum()), n * 2**_SCALE
        return Reading(coefficients=gaps, low=low * unit - base - slack, high=high * unit - base + slack)


@attrs.frozen(kw_only=True)
class LogLossScore(MeanLoss):
    """scikit-learn's log-loss."""

    loss: Loss = attrs.field(factory=LogLoss, init=False)
    score = scikit_learn("log_loss", labels=[0, 1])


@attrs.frozen(kw_only=True)
class BrierScore(MeanLoss):
    """scikit-learn's Brier score."""

    loss: Loss = attrs.field(factory=Brier, init=False)
    score = scikit_learn("brier_score_loss")
