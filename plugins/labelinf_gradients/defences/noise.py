"""Noise on released gradients."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.effects import EntriesRounded, GradientFacts, NoiseAdded
from labelinf_gradients.game.gradient import ActiveGradientDefence, GradientDefence, GradientThreat, Layout
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["GradientNoise"]


@attrs.frozen(kw_only=True)
class GradientNoise(GradientDefence):
    """Adds independent noise to every released entry, in floating point: certificate none.

    Without clipping the gradient that it hides has no bound; with it, the low bits of a sum still tell bare noise from
    noise on a number that is not zero (the attack ``zero-mask``). Use ``clipped-gaussian`` or ``clipped-laplace``.

    Attributes:
        model: Distribution of the noise, in units of the gradient.
    """

    model: NoiseModel = attrs.field(factory=lambda: Gaussian(scale=0.01))

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        """Say how large the noise is; factors change an entry by a share of itself."""
        if self.model.multiplicative:
            return (EntriesRounded(),)
        return (NoiseAdded(std=self.model.std, model=self.model),)

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        """Return what adds the noise."""
        return _Noise(self.model, rng)


class _Noise(ActiveGradientDefence):
    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        noise = self._model.sample(self._rng, gradient.size)
        return gradient * noise if self._model.multiplicative else gradient + noise
