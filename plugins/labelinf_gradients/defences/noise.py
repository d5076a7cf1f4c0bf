"""Noise on released gradients."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients import certificates
from labelinf_gradients.defences.common import certified, facts
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat, Guard, Layout
from labelinf_privacy.noise.gaussian import Gaussian

__all__ = ["GradientNoise"]


@attrs.frozen(kw_only=True)
class GradientNoise(GradientDefence):
    """Adds independent noise to every released entry.

    Without clipping it certifies nothing: the gradient it hides has no bound. Behind ``gradient-clip``, Gaussian noise
    is certified, provided that nothing changes the release in between.

    Attributes:
        model: Distribution of the noise, in units of the gradient.
    """

    model: NoiseModel = attrs.field(factory=lambda: Gaussian(scale=0.01))

    @property
    def transparent(self) -> bool:
        """Noise that is added says nothing new; factors lengthen a release."""
        return not self.model.multiplicative

    def tell(self, threat: ThreatModel) -> ThreatModel:
        """Say how large the noise is."""
        told = facts(threat)
        return attrs.evolve(told, noise_std=math.hypot(told.noise_std, self.model.std))

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        """Return what adds the noise."""
        return _Noise(self.model, rng)

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return the Gaussian certificate where gradients are clipped and nothing else has changed them."""
        told = facts(threat)
        if not isinstance(self.model, Gaussian) or math.isinf(told.clip):
            return ()
        accuracy = certificates.gaussian(told.clip / told.batch / self.model.scale, told.prior)
        return certified(told, self, accuracy, "labelinf theory, certificates: Gaussian")


class _Noise(Guard):
    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        noise = self._model.sample(self._rng, gradient.size)
        return gradient * noise if self._model.multiplicative else gradient + noise
