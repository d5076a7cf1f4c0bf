"""Predicted values are cut to the range of the labels before they are scored.

Without it no noise and no rounding stops an error of values: next to a prediction of 2^80 one label is worth as much
as anybody likes (M24). With it a label moves a mean squared error by ``V^2 / N`` at most, a mean absolute one by
``V / N``, V the width of the range, so that noise can be calibrated and rounding leaves few values. By itself it
protects nothing.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, UnfitError
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Confined, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows

__all__ = ["Confine"]


@attrs.frozen(kw_only=True)
class Confine(ScoreDefence):
    """Cuts predicted values to ``[low, high]``.

    Stage: the query. Guarantee: none by itself; what calibrated noise, and counting behind rounding, rest on. Utility:
    none is lost where no label lies beyond.

    Attributes:
        low: Predicted values below count as this; None: the least that a class stands for.
        high: Those above; None: the largest.
    """

    low: float | None = None
    high: float | None = None

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The narrower of two ranges counts.

        Raises:
            UnfitError: What is scored are no errors of values.
            InputError: The range is empty.
        """
        low, high = self._range(threat)
        if not low < high:
            raise InputError(f"confine(low={low:g}, high={high:g}) leaves no values: low must be less than high.")
        return (Confined(low=low, high=high),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that cuts to the range of this game."""
        return _Cutting(*self._range(threat))

    def _range(self, threat: ScoreThreat) -> tuple[float, float]:
        if threat.metric is None or threat.metric.rows not in (Rows.REALS, Rows.LEVELS):
            raise UnfitError("confine cuts predicted values, and none are scored here; clip is for probabilities.")
        values = [float(value) for value in threat.totals.values]
        return min(values) if self.low is None else self.low, max(values) if self.high is None else self.high


class _Cutting(ActiveScoreDefence):
    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        inside = np.clip(query.predictions, self._low, self._high)
        return ask(labels, attrs.evolve(query, predictions=inside))
