"""Rounds the released probabilities. Certificate: none."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_outputs.game.output import OutputDefence, OutputThreat

__all__ = ["RoundedOutputs"]


@attrs.frozen(kw_only=True)
class RoundedOutputs(OutputDefence):
    """Releases probabilities with few decimals.

    Attributes:
        decimals: At least 0.
    """

    decimals: int = attrs.field(default=1, validator=attrs.validators.ge(0))

    def release(self, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Round."""
        return np.round(probabilities, self.decimals)

    def effect(self, threat: OutputThreat) -> OutputThreat:
        """The adversary knows the step."""
        step = max(threat.view.resolution, 10.0**-self.decimals)
        return attrs.evolve(threat, view=attrs.evolve(threat.view, resolution=step))
