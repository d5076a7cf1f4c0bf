"""Rounding: the score is released to d decimals, as most leaderboards do.

To an attacker, rounding to step r is bounded noise of at most r / 2. It caps what one answer can carry, and gives no
record any guarantee: an answer that depends on the labels and on nothing random is not differentially private.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.defences.answers import rounded
from labelinf_scores.game.curator import Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Rounded, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["RoundScore"]


@attrs.frozen(kw_only=True)
class RoundScore(ScoreDefence):
    """Rounds the score to ``decimals``, halves to even.

    Stage: the answer. Guarantee: q answers carry at most ``q log2(L 10**decimals + 2)`` bits. Utility: an error of at
    most half a step.

    Attributes:
        decimals: Decimals that are released, 0 to 15.
    """

    decimals: int = attrs.field(default=5, validator=[attrs.validators.ge(0), attrs.validators.le(15)])

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Half a step more noise; the coarsest rounding counts; one label may move the score by one step more."""
        return (Rounded(step=10.0**-self.decimals),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The decimals."""
        return (
            TunableParameter(
                title="decimals of the score",
                template="round(decimals={})",
                weakest=15,
                strongest=0,
                integer=True,
            ),
        )

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        """Round the score."""
        return rounded(ask(labels, query), self.decimals)
