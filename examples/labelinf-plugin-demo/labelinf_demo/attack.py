"""One record per query: the simplest attack there is, for any loss and two classes."""

from __future__ import annotations

import contextlib

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat


@attrs.frozen(kw_only=True)
class OneByOne(ScoreAttack):
    """Predicts ``confidence`` for one record, one half for the others, and reads which way the score moves.

    Attributes:
        confidence: Predicted probability of class 1 for the record asked about, in (0.5, 1).
    """

    confidence: float = attrs.field(default=0.9, validator=[attrs.validators.gt(0.5), attrs.validators.lt(1.0)])

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It knows two classes only."""
        return "" if threat.n_classes == 2 else "needs two classes"

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Ask about as many records as the budget allows; abstain on the rest."""
        labels = np.full(oracle.threat.n_records, ABSTAIN)
        with contextlib.suppress(QueryRefusedError):  # a refusal ends the asking, not the game: what is known counts
            self._ask(oracle, labels)
        return Guess(labels=labels, evidence={"records asked about": int((labels != ABSTAIN).sum())})

    def _ask(self, oracle: ScoreOracle, labels: NDArray[np.intp]) -> None:
        """Fill in ``labels``, one after the other."""
        if oracle.remaining < 2:
            return
        blank = np.full(len(labels), 0.5)
        reference = oracle.query(blank)
        for row in range(int(min(len(labels), oracle.remaining))):
            asked = blank.copy()
            asked[row] = self.confidence
            labels[row] = int(oracle.query(asked) < reference)
