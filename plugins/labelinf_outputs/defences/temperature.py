"""Flattens the released probabilities by a temperature. It hides nothing: it can be undone. Certificate: none."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.output import OutputDefence

__all__ = ["Temperature", "tempered"]

Floats = NDArray[np.float64]

_SMALLEST = 1e-300


def tempered(log_probabilities: Floats, temperature: float) -> Floats:
    """Return probabilities proportional to ``p^(1/T)``, shape ``(n, K)``."""
    logits = log_probabilities / temperature
    return np.asarray(np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)))


@attrs.frozen(kw_only=True)
class Temperature(OutputDefence):
    """Divides the logits by a temperature; every comparison of an adversary comes out as before.

    Attributes:
        temperature: T, above 0.
    """

    temperature: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        """Flatten."""
        return tempered(np.log(np.maximum(probabilities, _SMALLEST)), self.temperature)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Every comparison comes out as before."""
        return ()
