"""The baseline: guess the most frequent class for every record, and ask nothing.

The class shares count as public, so this is what an adversary knows before anything is released. An attack that does
no better has learnt nothing.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle

__all__ = ["Majority"]


@attrs.frozen(kw_only=True)
class Majority(ScoreAttack):
    """Guesses the most frequent class; spends no query."""

    blind: ClassVar[bool] = True

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        """Guess without asking."""
        threat = oracle.threat
        return Guess(labels=np.full(threat.n_records, threat.majority), evidence={"share": threat.baseline})
