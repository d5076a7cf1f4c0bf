"""An outermost stage that lets few values through, few times: what it proves holds for any scorer whatever.

A scorer may be anybody's: unknown, stateful, adversarial. What leaves this stage is one of V numbers, at most q times
in all, so that there are ``V**q`` transcripts, and ``C(q + J, J)`` where only the best so far is shown, J = V - 1
(labelinf theory, any scorer, U22 and U23). A scorer that fails shows as the lowest value: that it failed would be one
value more. So few bits prove much of many labels, and nothing of few.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Budgeted, Ledgered, Moved, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["BoundedAnswers"]


@attrs.frozen(kw_only=True)
class BoundedAnswers(ScoreDefence):
    """Puts every answer on a grid of a few values, and grants a few answers to all participants together.

    Stage: the answer. Guarantee: ``q log2 V`` bits in all, or ``log2 C(q + J, J)`` where the best so far is shown, for
    any scorer. Utility: an error of at most half a step within the range.

    Attributes:
        values: V, the values that an answer can take, at least 2.
        queries: q, answers in all.
        low: The lowest of them; what is below, and what cannot be scored, counts as this.
        high: The highest.
        best: Show the best answer so far instead of the last one.
        higher: Whether more is better.
    """

    values: int = attrs.field(default=11, validator=attrs.validators.ge(2))
    queries: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    low: float = 0.0
    high: float = 1.0
    best: bool = False
    higher: bool = True

    def __attrs_post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"low={self.low:g} must be below high={self.high:g}, both finite")

    @property
    def bits(self) -> float:
        """The logarithm of the number of transcripts, to base 2."""
        if not self.best:
            return self.queries * math.log2(self.values)
        return math.log2(math.comb(self.queries + self.values - 1, self.values - 1))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Answers move without a limit, by a rule that looks at answers alone; few bits are told."""
        moved = Moved(bound=math.inf, blind=True)
        return (moved, Ledgered(bits=self.bits), Budgeted(queries=self.queries, shared=True))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return a stage that remembers the best answer so far."""
        return _Bounded(self)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The answers that are granted to all."""
        most = max(1, getattr(threat, "query_budget", None) or threat.n_records)
        title = "answers of 11 values from 0 to 1, granted to all together"
        return (
            TunableParameter(
                title=title, template="bounded-answers(queries={})", weakest=most, strongest=1, integer=True
            ),
        )


class _Bounded(ActiveScoreDefence):
    def __init__(self, stage: BoundedAnswers) -> None:
        self._stage = stage
        self._best = 0 if stage.higher else stage.values - 1

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        """Return one of the values; a query that fails is answered as the lowest."""
        stage, last = self._stage, self._stage.values - 1
        try:
            share = (float(ask(labels, query)) - stage.low) / (stage.high - stage.low)
        except Exception:  # whatever was raised: which failure it was is told to nobody
            share = 0.0
        place = round(last * min(1.0, max(0.0, share)))
        if stage.best:
            self._best = place = max(self._best, place) if stage.higher else min(self._best, place)
        return stage.low + (stage.high - stage.low) * place / last
