"""Clipping: predictions are moved into ``[epsilon, 1 - epsilon]`` before they are scored.

It makes the span L of the log-loss finite, which everything else rests on; by itself it protects nothing. From
L = 36 down to 4.6 an attacker on a float64 score loses three labels a query out of 45.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.defences.placing import need_clippable
from labelinf_scores.game.curator import Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Clipped, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Clip"]


@attrs.frozen(kw_only=True)
class Clip(ScoreDefence):
    """Clips every probability to ``[epsilon, 1 - epsilon]``.

    Stage: the query. Guarantee: none by itself; one record moves N times the score by at most ``span(epsilon)``.
    Utility: an honest prediction that is certain and right costs ``-ln(1 - epsilon)`` instead of nothing.

    Attributes:
        epsilon: Least probability that is scored, in (0, 1/2).
    """

    epsilon: float = attrs.field(default=0.01, validator=[attrs.validators.gt(0), attrs.validators.lt(0.5)])

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The narrower of two clips counts.

        Raises:
            InputError: The loss does not take probabilities.
        """
        need_clippable(threat, "clip")
        return (Clipped(epsilon=self.epsilon),)

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        """Ask about clipped predictions."""
        inside = np.clip(query.predictions, self.epsilon, 1 - self.epsilon)
        return ask(labels, attrs.evolve(query, predictions=inside))
