"""Defences that do nothing, add noise, and boast."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Ledgered, Moved, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat


@attrs.frozen(kw_only=True)
class Open(ScoreDefence):
    """Lets everything through."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return ()

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return ActiveScoreDefence()


@attrs.frozen(kw_only=True)
class Noisy(ScoreDefence):
    """Adds Gaussian noise.

    Attributes:
        scale: Standard deviation.
    """

    scale: float = attrs.field(default=0.1, validator=attrs.validators.ge(0))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=float("inf"), std=self.scale, fresh=True),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Noise(self.scale, rng)


@attrs.frozen
class _Noise(ActiveScoreDefence):
    scale: float
    rng: np.random.Generator

    def answer(self, labels: np.ndarray, query: Query, ask: Ask) -> Answer:  # type: ignore[type-arg]
        return ask(labels, query) + self.rng.normal(0, self.scale)


@attrs.frozen(kw_only=True)
class Boast(Open):
    """Lets everything through and states that nothing gets out."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Ledgered(bits=0.0),)
