"""Noise chosen against the attacker: within ``tau``, secret labels are averaged out of every answer, for ever.

Replacing one label's cost by the mean over the classes moves the score by at most ``L (K-1) / (K N)``. So noise of
``tau`` can hide ``k = floor(tau K N / ((K-1) L))`` labels of a secret random set, whatever is asked and how often
(labelinf theory, worst-case noise; two classes: ``floor(2 N tau / L)``). What is left of tau rounds the answer.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.bounds.worst_case import hideable, hiding_noise
from labelinf_scores.defences.answers import combined, to_step
from labelinf_scores.defences.placing import need_nothing_random_nearer
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Hidden, Moved, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["WorstCaseNoise"]


@attrs.frozen(kw_only=True)
class WorstCaseNoise(ScoreDefence):
    """Errs by at most ``tau``, always so as to hide the same secret records.

    Stage: the labels and the answer. Guarantee: the k hidden labels never enter an answer, and are guessed from the
    class counts at best, which tell one that is hidden alone. Utility: an error of at most tau.

    Attributes:
        tau: Largest error, in units of the score, more than 0.
    """

    tau: float = attrs.field(default=0.01, validator=attrs.validators.gt(0))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that hides a secret set."""
        hidden = rng.permutation(threat.n_records)[: self._hidden(threat)]
        left = self.tau - hiding_noise(threat.span, threat.n_records, len(hidden), threat.n_classes)
        return _Hiding(hidden, threat.n_classes, 2 * max(left, 0.0))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Bounded noise; hidden records are never scored.

        Raises:
            InputError: Something random stands nearer to the scorer.
        """
        need_nothing_random_nearer(threat, "worst-case-noise")
        return (Hidden(count=self._hidden(threat)), Moved(bound=self.tau, blind=True))

    def _hidden(self, threat: ScoreThreat) -> int:
        return 0 if math.isinf(threat.span) else hideable(threat.span, threat.n_records, self.tau, threat.n_classes)


class _Hiding(ActiveScoreDefence):
    def __init__(self, hidden: NDArray[np.intp], n_classes: int, step: float) -> None:
        self._hidden = hidden
        self._n_classes = n_classes
        self._step = step

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        answer = self._averaged(labels, query, ask) if self._hidden.size else ask(labels, query)
        return to_step(answer, self._step) if self._step > 0 else answer

    def _averaged(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        answers = []
        for label in range(self._n_classes):
            pretended = labels.copy()
            pretended[self._hidden] = label
            answers.append(ask(pretended, query))
        return combined(answers, [1 / self._n_classes] * self._n_classes)
