"""Scoring on part of the records: a secret subset fixed for ever, or a fresh one for every query.

Fixed: the other labels never enter an answer, so that at most ``t + (1 - t) max p`` of the labels can be guessed, for
any number of queries ((0, t)-label-DP). Inside the subset it hides nothing: one exact answer tells who is in it *and*
their labels. Fresh: q queries see a share ``1 - (1 - t)**q``.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.defences.placing import need_nothing_random_nearer
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Sampled, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Subset"]


@attrs.frozen(kw_only=True)
class Subset(ScoreDefence):
    """Scores a random share of the records only.

    Stage: the labels and the query. Guarantee of a fixed subset: nobody guesses more than ``t + (1 - t) max p`` of the
    labels, in any number of queries; inside the subset it hides nothing. Of a fresh one: q queries see a share
    ``1 - (1 - t)**q``. Utility: the score of a sample, with its sampling error. The size is public.

    Attributes:
        share: Share t of the records that are scored, in (0, 1]; at least one record is.
        fresh: Whether every query has a subset of its own.
    """

    share: float = attrs.field(default=0.3, validator=[attrs.validators.gt(0), attrs.validators.le(1)])
    fresh: bool = False

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that scores a subset."""
        size = self._size(threat)
        return _FreshSubset(size, rng) if self.fresh else _FixedSubset(size, rng)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Fewer records are scored, and each counts for more; a fresh subset is fresh noise, too.

        Raises:
            InputError: Something random stands nearer to the scorer.
        """
        need_nothing_random_nearer(threat, "subset")
        return (Sampled(size=self._size(threat), fresh=self.fresh),)

    def _size(self, threat: ScoreThreat) -> int:
        return max(1, round(self.share * threat.n_records))

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The share."""
        return (
            TunableParameter(
                title="score on a fixed secret subset, share t",
                template="subset(share={})",
                weakest=1.0,
                strongest=1 / threat.n_records,
            ),
        )


class _FixedSubset(ActiveScoreDefence):
    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size = size
        self._rng = rng
        self._rows: NDArray[np.intp] | None = None

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        rows = self._choose(labels.size)
        return ask(labels[rows], attrs.evolve(query, predictions=query.predictions[rows]))

    def _choose(self, n_records: int) -> NDArray[np.intp]:
        if self._rows is None:
            self._rows = self._draw(n_records)
        return self._rows

    def _draw(self, n_records: int) -> NDArray[np.intp]:
        return np.sort(self._rng.permutation(n_records)[: self._size])


class _FreshSubset(_FixedSubset):
    def _choose(self, n_records: int) -> NDArray[np.intp]:
        return self._draw(n_records)
