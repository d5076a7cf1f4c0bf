"""The curator of the score channel, and the defences it answers through.

A **defence** of this channel is one middleware: it is given the labels, the query and the next stage towards the
scorer, and returns an answer. Rounding asks and rounds; clipping changes the query and asks; randomised response asks
about other labels. A pipeline is written from the curator outward: its first stage stands next to the scorer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Defence
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import ComponentError, QueryRefusedError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.game.scoring import Answer, Query, Scorer, as_numbers
from labelinf_scores.game.threat import ScoreThreat, score_threat

__all__ = ["ActiveScoreDefence", "Answer", "Ask", "Curator", "Query", "ScoreDefence"]

Ask = Callable[[NDArray[np.intp], Query], Answer]  #: the next stage towards the scorer


class ActiveScoreDefence:
    """A defence in one game: may keep state between queries. The default lets everything through."""

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        """Answer ``query`` about ``labels``, asking the next stage as often as need be.

        Raises:
            QueryRefusedError: The defence declines to answer.
        """
        return ask(labels, query)


class ScoreDefence(Defence, ActiveScoreDefence):
    """A defence of the score channel: overrides ``answer``, and says in :meth:`does` what it does.

    Who says nothing is taken at the worst: behind it attacks still play, and nothing is promised or certified.

    Attributes:
        asks: Whether scores come from the next stage; otherwise it computes them itself, of a metric of its own.
    """

    asks: ClassVar[bool] = True

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return this defence's part in one game: itself, unless it has something to remember or to draw.

        Args:
            threat: What is public of the stages nearer to the scorer, as :meth:`does` is told; a defence that must
                calibrate itself to them does so in both.
            rng: Its own source of randomness; the adversary never sees it.
        """
        return self

    def effects(self, threat: ThreatModel) -> tuple[Effect[ScoreFacts], ...]:
        """Return what this defence does; see :meth:`does`.

        Raises:
            InputError: ``threat`` is of another channel, or the defence does not fit there.
        """
        return self.does(score_threat(threat))

    def does(self, threat: ScoreThreat) -> tuple[Effect[ScoreFacts], ...]:
        """Return what this defence does, as values of :mod:`labelinf_scores.game.effects`, from the curator outward.

        Args:
            threat: What is public of the stages nearer to the scorer.

        Returns:
            ``()`` says that nothing is changed. By default: unknown.
        """
        return super().effects(threat)


@attrs.frozen(kw_only=True, eq=False)
class Curator:
    """Holds labels and answers queries through its defences. Serves attacks and honest participants alike.

    Attributes:
        labels: The private labels, shape ``(n_records,)``.
        threat: What is public.
        scorer: What computes the score.
    """

    labels: NDArray[np.intp] = attrs.field(repr=False)
    threat: ScoreThreat
    scorer: Scorer
    _actives: tuple[tuple[Defence, ActiveScoreDefence], ...] = attrs.field(repr=False)

    @classmethod
    def start(cls, labels: NDArray[np.intp], threat: ScoreThreat, scorer: Scorer, rng: np.random.Generator) -> Curator:
        """Start one game: every defence gets a generator of its own, in order, and is told of the stages before it."""
        actives, generators = [], rng.spawn(len(threat.defences))
        for defence, nearer, generator in zip(threat.defences, threat.before, generators, strict=False):
            if isinstance(defence, ScoreDefence):
                with gate.attribute_errors(defence, quote=False):
                    actives.append((defence, defence.start(nearer, generator)))
        return cls(labels=labels, threat=threat, scorer=scorer, actives=tuple(actives))

    def answer(self, query: Query) -> Answer:
        """Answer one query.

        Raises:
            QueryRefusedError: It is malformed, or a defence declines.
        """
        query = attrs.evolve(query, predictions=as_numbers(query.predictions))
        problem = self.threat.loss.fault(query.predictions, self.threat.n_records, self.threat.n_classes)
        if problem:
            raise QueryRefusedError(problem)
        ask: Ask = self.scorer.score
        for defence, active in self._actives:
            ask = _through(defence, active, ask, doubles=self.threat.computes.doubles)
        return ask(self.labels, query)


def _through(defence: Defence, active: ActiveScoreDefence, ask: Ask, *, doubles: bool) -> Ask:
    """Return what answers through one more stage; where scores are doubles, its answers are: an integer has no end."""

    def answer(labels: NDArray[np.intp], query: Query) -> Answer:
        with gate.attribute_errors(
            defence, QueryRefusedError, quote=False
        ):  # what it raises may hold the labels it is handed
            answered = active.answer(labels, query, ask)
            answered = float(answered) if doubles else answered
            if math.isnan(answered):
                raise ComponentError("it answered NaN, expected a number")
        return answered

    return answer
