"""The baseline: guesses without looking. Planted labels are uniform, so no constant does better than another."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_outputs.game.output import OutputAttack, OutputOracle

__all__ = ["BlindGuess"]


@attrs.frozen(kw_only=True)
class BlindGuess(OutputAttack):
    """Guesses the most frequent class; under a uniform prior that is class 0."""

    blind: ClassVar[bool] = True

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Look at nothing."""
        return Guess(labels=np.full(oracle.threat.n_records, oracle.threat.majority, dtype=np.intp))
