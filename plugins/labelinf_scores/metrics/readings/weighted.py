"""A mean of log-losses in which records, or classes, weigh differently, as far as the weights were measured.

Label k of record i costs ``w_i r_k`` times what it costs in a log-loss, ``r_0 = 1``. There is one prediction under
which both labels cost the same, one half where classes weigh alike: with it everywhere the score is the level, whatever
the labels. So weights matter for the records alone that a query asks about, and so does their error.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import UNIT, Floats, Reading, Released, Rows, ScoredMetric, Totals, exact

__all__ = ["WeightedLogLoss"]

_SCALE = 60
_HALVINGS = 60
_WIDEST = 40.0  # of a log-odds


@attrs.frozen(kw_only=True)
class WeightedLogLoss(ScoredMetric):
    """A weighted log-loss of two classes.

    Attributes:
        weights: What every record's cost counts for, sign and base included; zero where it is not scored.
        ratio: How many times as much label 1 counts as label 0.
        level: The score of the neutral prediction everywhere.
        error: How far a weight may be off, as it counts for one label or the other.
        level_error: How far the level may be off.
        clip: Probabilities are clipped to ``[clip, 1 - clip]`` first; 0: they are not.
    """

    rows = Rows.COSTS
    higher = False
    weights: tuple[float, ...] = ()
    ratio: float = 1.0
    level: float = 0.0
    error: float = 0.0
    level_error: float = 0.0
    clip: float = 0.0

    @functools.cached_property
    def neutral(self) -> float:
        """The prediction under which both labels cost the same."""
        return float(self.predictions(np.zeros(1))[0])

    def predictions(self, gaps: Floats) -> Floats:
        """Return predictions under which label 1 costs ``gaps`` more than label 0, per unit of weight."""
        if self.ratio == 1.0:
            return np.asarray(1 / (1 + np.exp(gaps)))
        low, high = np.full(gaps.shape, -_WIDEST), np.full(gaps.shape, _WIDEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            costs = self._costs(1 / (1 + np.exp(-middle)))
            wide = costs[:, 1] - costs[:, 0] > gaps  # falls with the log-odds
            low, high = np.where(wide, middle, low), np.where(wide, high, middle)
        return np.asarray(1 / (1 + np.exp(-(low + high) / 2)))

    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return the score that the weights make."""
        apart = self._apart(predictions)[np.arange(labels.size), labels]
        return float(self.level + (np.array(self.weights) * apart).sum())

    @property
    def scores_only(self) -> int | None:
        """As many as there are weights."""
        return len(self.weights) or None

    def within(self, clip: float) -> WeightedLogLoss:
        """Return the same behind a clip."""
        return attrs.evolve(self, clip=max(clip, self.clip))

    def sensitivity(self, n_records: int) -> float:
        """Return what the heaviest record's two labels cost apart at the clip; infinity without one.

        Between the clips the difference of costs is monotone in the prediction. Next to a level the sum is rounded by
        more than the costs.
        """
        if not self.clip or self.ratio <= 0:
            return math.inf
        low, high = self._costs(np.array([self.clip, 1 - self.clip]))
        apart = max(abs(float(low[1] - low[0])), abs(float(high[1] - high[0])))
        return (max(map(abs, self.weights), default=0.0) + self.error) * apart + 8 * float(UNIT) * abs(self.level)

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
        apart = self._apart(predictions)
        apart[predictions == self.neutral] = 0.0
        low, high = (end - Fraction(self.level) for end in released.interval(score, Fraction(0)))
        sizes = float(np.abs(apart).max(axis=1).sum())
        # Weights and level as measured; the scorer's own sum, and the costs here and there, in doubles.
        arithmetic = 4 * (totals.n_records + 16) * float(UNIT) * (1 + abs(self.level) + abs(float(score)))
        slack = Fraction(self.error * sizes + self.level_error + arithmetic) * 2**_SCALE + 2
        table = np.stack([exact(np.array(self.weights) * apart[:, k], _SCALE) for k in (0, 1)], axis=1)
        return Reading(coefficients=table, low=low * 2**_SCALE - slack, high=high * 2**_SCALE + slack)

    def _costs(self, predictions: Floats) -> Floats:
        """Return what labels 0 and 1 cost per unit of weight, shape ``(n, 2)``."""
        return np.stack([-np.log1p(-predictions), -self.ratio * np.log(predictions)], axis=1)

    def _apart(self, predictions: Floats) -> Floats:
        """Return by how much more than the neutral prediction they cost."""
        return self._costs(predictions) + math.log1p(-self.neutral)
