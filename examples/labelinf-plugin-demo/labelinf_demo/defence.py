"""Releases a score to the nearest multiple of a step."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_scores.game.curator import Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Rounded, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat


@attrs.frozen(kw_only=True)
class Coarse(ScoreDefence):
    """Rounds the released score to a multiple of ``step``; by Kerckhoffs' principle the adversary knows the step.

    Attributes:
        step: Distance between two scores that can be released, in units of the score, above 0.
    """

    step: float = attrs.field(default=0.01, validator=attrs.validators.gt(0.0))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The adversary knows the defence (Kerckhoffs); what follows from it is computed, and never set by hand."""
        return (Rounded(step=self.step),)

    def answer(self, labels: np.ndarray, query: Query, ask: Ask) -> Answer:  # type: ignore[type-arg]
        """Round the score."""
        return round(float(ask(labels, query)) / self.step) * self.step
