"""Against ranks alone: every record is one comparison of two submissions, whatever their scores are.

A first submission says the same of every record. Each further one says of one record that it is of class 1, and stands
before the first exactly if it is. Only the number of better ones among those before is told, and no score: so ranks are
no defence (labelinf theory, guard, B12).

Example::

    labelinf attack rank-comparisons --labels y.csv --defence 'guarded-board(show="ranks")'
"""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.decoders.posterior import certainly, likeliest_labels
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["RankComparisons"]

_SURE = 0.9  # of one record, where all others are 1/2


@attrs.frozen(kw_only=True)
class RankComparisons(ScoreAttack):
    """Reads a label by each rank."""

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Answers must be ranks, of scores of two classes."""
        if not threat.facts.ranked:
            return "answers are no ranks"
        return "" if threat.n_classes == 2 else "needs two classes"

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Compare until all labels are read or nothing more is answered."""
        known, ended, better = np.full(oracle.threat.n_records, -1, dtype=np.intp), "all asked", 0
        try:
            oracle.query(np.full((known.size, 2), 0.5))
            for at in range(known.size):
                rows = np.full((known.size, 2), 0.5)
                rows[at] = 1 - _SURE, _SURE
                before = round(oracle.query(rows)) - 1
                if before > better:  # the first one too was better
                    known[at] = 0
                else:  # it is not behind the first one, wherever those stand that are as good
                    known[at], better = 1, better + 1
        except (QueriesExhaustedError, QueryRefusedError) as error:
            ended = str(error)
        read = int(np.count_nonzero(known >= 0))
        labels = likeliest_labels(certainly(known, oracle.threat), oracle.threat)
        return Guess(labels=labels, evidence={"labels read": read, "ended": ended})
