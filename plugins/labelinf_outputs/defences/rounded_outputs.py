"""Rounds the released probabilities. Certificate: none."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Coarsened
from labelinf_outputs.game.output import OutputDefence

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

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """The adversary knows the step."""
        return (Coarsened(step=10.0**-self.decimals),)
