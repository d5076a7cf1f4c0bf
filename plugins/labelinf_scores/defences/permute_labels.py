"""A private leaderboard: the curator compares predictions with the labels in a secret order that never changes.

An attack then recovers the *multiset* of labels, and cannot say whose they are (Aggarwal et al., AISTATS 2022,
Section 7). Nor do honest scores mean anything: this is a limiting case to compare with, not a defence to use.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Reordered, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PermuteLabels"]


@attrs.frozen(kw_only=True)
class PermuteLabels(ScoreDefence):
    """Scores the labels in a secret random order.

    Stage: the labels. Guarantee: no label is guessed better than by the majority guess; the class counts are given
    away. Utility: none; every honest model scores like a shuffled one.
    """

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that permutes."""
        return _Permuting(rng.permutation(threat.n_records))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The order is unknown."""
        return (Reordered(),)


class _Permuting(ActiveScoreDefence):
    def __init__(self, order: NDArray[np.intp]) -> None:
        self._order = order

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        return ask(labels[self._order], query)
