"""Thresholdout: answers from one half of the records, and from the other only when the two disagree.

(Dwork, Feldman, Hardt, Pitassi, Reingold and Roth, Science 2015.) Made to keep a holdout honest, not secret: the first
half is scored without any protection, so that its labels are as exposed as without a defence.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.defences.answers import add
from labelinf_scores.defences.placing import need_nothing_random_nearer
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, Refusing, Sampled, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Thresholdout"]


@attrs.frozen(kw_only=True)
class Thresholdout(ScoreDefence):
    """Answers the score of an open half unless the held-out half disagrees by more than a noisy threshold.

    Stage: the labels, the query and the answer. Guarantee: against overfitting to the held-out half; none for the
    labels of the open half. Utility: the error of half a sample, and noise when the halves disagree.

    Attributes:
        threshold: Disagreement that is tolerated, in units of the score, at least 0.
        scale: Of the Laplace noise, in units of the score, more than 0.
        share: Share of the records that is open, in (0, 1).
        disagreements: Answers from the held-out half that are granted, at least 1; then everything is refused.
    """

    threshold: float = attrs.field(default=0.02, validator=attrs.validators.ge(0))
    scale: float = attrs.field(default=0.005, validator=attrs.validators.gt(0))
    share: float = attrs.field(default=0.5, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    disagreements: int = attrs.field(default=100, validator=attrs.validators.ge(1))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that splits the records."""
        order = rng.permutation(threat.n_records)
        n_open = self._open(threat)
        return _Splitting(self, np.sort(order[:n_open]), np.sort(order[n_open:]), rng)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The answer is another sample's score, and sometimes noisy: its error has no bound.

        Raises:
            InputError: Something random stands nearer to the scorer, or there is only one record.
        """
        need_nothing_random_nearer(threat, "thresholdout")
        if threat.n_records < 2:
            raise InputError("thresholdout splits the records in two, and there is only one.")
        opened = Sampled(size=self._open(threat), others=True)
        return (opened, Moved(bound=math.inf, std=self.scale * math.sqrt(2), fresh=True), Refusing())

    def _open(self, threat: ScoreThreat) -> int:
        """Return how many records are open: neither none nor all."""
        return min(threat.n_records - 1, max(1, round(self.share * threat.n_records)))


class _Splitting(ActiveScoreDefence):
    def __init__(
        self, limits: Thresholdout, opened: NDArray[np.intp], held: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        self._limits = limits
        self._open = opened
        self._held = held
        self._rng = rng
        self._left = limits.disagreements
        self._threshold = self._renewed()

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        if self._left < 1:
            raise QueryRefusedError("the held-out records have been asked as often as is granted.")
        opened, held = self._score(self._open, labels, query, ask), self._score(self._held, labels, query, ask)
        if abs(held - opened) <= self._threshold + self._laplace(4):
            return opened
        self._left -= 1
        self._threshold = self._renewed()
        return add(held, self._laplace(1))

    def _score(self, rows: NDArray[np.intp], labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        return ask(labels[rows], attrs.evolve(query, predictions=query.predictions[rows]))

    def _renewed(self) -> float:
        return self._limits.threshold + self._laplace(2)

    def _laplace(self, times: float) -> float:
        return float(self._rng.laplace(0.0, times * self._limits.scale))
