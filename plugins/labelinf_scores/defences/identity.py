"""No defence: the curator releases the score as computed. The column every other defence is read against."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_scores.game.score import Guard, ScoreDefence, ScoreThreat

__all__ = ["Identity"]


@attrs.frozen(kw_only=True)
class Identity(ScoreDefence):
    """Lets everything through.

    Stage: none. Guarantee: none. Utility: nothing is lost.
    """

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> Guard:
        """Return a guard that lets everything through."""
        return Guard()
