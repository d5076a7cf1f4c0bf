"""A defence: now and then the opposite is said."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_equality.game import Ask, EqualityDefence, EqualityThreat, Flipped

__all__ = ["RandomisedAnswers"]


@attrs.frozen(kw_only=True)
class RandomisedAnswers(EqualityDefence):
    """Says the opposite with a probability (randomised response, Warner 1965).

    Attributes:
        flip: The probability, in [0, 1/2].
        sticky: Draw once for every pair of records, so that asking again gives nothing new.
    """

    flip: float = attrs.field(default=0.25, validator=[attrs.validators.ge(0), attrs.validators.le(0.5)])
    sticky: bool = False

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """All that it does."""
        return (Flipped(probability=self.flip, sticky=self.sticky),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The probability."""
        return (
            TunableParameter(
                title="probability that an answer is the opposite",
                template="randomised-answers(flip={})",
                weakest=0.001,
                strongest=0.5,
            ),
        )

    def start(self, threat: EqualityThreat, rng: np.random.Generator, ask: Ask) -> Ask:
        """Return what flips answers; ``rng`` decides which."""
        drawn: dict[tuple[int, int], bool] = {}

        def answer(one: int, other: int) -> bool:
            pair = (min(one, other), max(one, other))
            if not self.sticky or pair not in drawn:
                drawn[pair] = bool(rng.random() < self.flip)
            return ask(one, other) != drawn[pair]

        return answer
