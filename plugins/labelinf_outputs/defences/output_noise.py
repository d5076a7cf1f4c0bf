"""Adds noise to the released probabilities, once per record. Certificate: none.

The noise is not calibrated to how much one label can move an output, which nobody has bounded for a trained network.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Coarsened
from labelinf_outputs.game.output import OutputDefence
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["OutputNoise"]


@attrs.frozen(kw_only=True)
class OutputNoise(OutputDefence):
    """Releases noisy probabilities, cut off at 0 and normalised again.

    Attributes:
        model: The noise of every probability.
    """

    model: NoiseModel = attrs.field(factory=lambda: Gaussian(scale=0.1))

    def release(self, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Add noise."""
        drawn = self.model.sample(rng, probabilities.size).reshape(probabilities.shape)
        noisy = np.maximum(probabilities * drawn if self.model.multiplicative else probabilities + drawn, 0)
        total = noisy.sum(axis=1, keepdims=True)
        return np.where(total > 0, noisy / np.where(total > 0, total, 1), 1 / probabilities.shape[1])

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """The adversary knows how large differences must be to mean something."""
        step = min(self.model.std, 1.0)
        return (Coarsened(step=step, noisy=True),) if step > 0 else ()
