"""The Ladder: a score is answered only when it improves on the best so far by a step (Blum and Hardt, ICML 2015).

Its answers never rise, so that few transcripts exist and q of them carry at most ``log2 C(q + J, J)`` bits,
``J = ceil(L / step)``. That needs a bounded loss. Unclipped, one answer gives all labels away, and rows that need not
sum to one let every answer improve on the last.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.defences.answers import to_step
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Laddered, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Ladder"]


@attrs.frozen(kw_only=True)
class Ladder(ScoreDefence):
    """Answers ``score`` rounded to the step when it is better than the best answer by more than a step, else the best.

    Better is lower, or higher for a metric of which more is better.

    Stage: the answer. Guarantee: few bits in all, none for any one record. Utility: what does not improve is not told;
    an honest improvement smaller than the step goes unseen.

    Attributes:
        step: Least improvement that counts, in units of the score, more than 0.
    """

    step: float = attrs.field(default=0.01, validator=attrs.validators.gt(0))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that remembers the best answer."""
        return _Climbing(self.step, upward=threat.metric is not None and threat.metric.higher)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """An answer may be any earlier one: its error has no bound."""
        return (Laddered(step=self.step),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The step."""
        return (
            TunableParameter(
                title="Ladder, step of the score", template="ladder(step={})", weakest=1e-6, strongest=1.0
            ),
        )


class _Climbing(ActiveScoreDefence):
    def __init__(self, step: float, *, upward: bool) -> None:
        self._step, self._upward = step, upward
        self._best = math.inf

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        score = ask(labels, query)
        if self._upward:
            score = -float(score)
        if score < self._best - self._step:
            self._best = to_step(score, self._step)
        return -self._best if self._upward else self._best
