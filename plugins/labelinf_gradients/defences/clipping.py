"""Clipping each sample's gradient, alone and with the noise that makes it private."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients import certificates
from labelinf_gradients.defences.common import certified, facts, hides_the_clipped
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat, Guard, Layout

__all__ = ["ClippedGaussian", "ClippedLaplace", "GradientClip"]

Noise = Callable[[int], NDArray[np.float64]]


@attrs.frozen(kw_only=True)
class GradientClip(GradientDefence):
    """Scales each sample's gradient down to a Euclidean norm. Certifies nothing by itself: directions remain.

    Attributes:
        norm: Largest norm, more than 0.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    @property
    def transparent(self) -> bool:
        """It changes samples, not releases."""
        return True

    def tell(self, threat: ThreatModel) -> ThreatModel:
        """Say how far gradients reach."""
        told = facts(threat)
        return attrs.evolve(told, clip=min(told.clip, self.norm))

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        """Return what clips."""
        return _Clipped(self.norm, 2)


@attrs.frozen(kw_only=True)
class ClippedGaussian(GradientDefence):
    """DP-SGD: clips each sample's gradient and adds Gaussian noise to the batch's sum (Abadi et al., 2016).

    Attributes:
        norm: Clipping norm S, more than 0.
        multiplier: Standard deviation of the noise on the sum, in units of S, more than 0.
        exposures: Full-batch steps that one sample takes part in; the certificate covers all of them together.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    multiplier: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    exposures: int = attrs.field(default=1, validator=attrs.validators.ge(1))

    @property
    def transparent(self) -> bool:
        """It adds noise."""
        return True

    def tell(self, threat: ThreatModel) -> ThreatModel:
        """Say how far gradients reach and how large the noise is."""
        told = facts(threat)
        std = self.multiplier * self.norm / told.batch
        return attrs.evolve(told, clip=min(told.clip, self.norm), noise_std=math.hypot(told.noise_std, std))

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        """Return what clips and adds noise."""
        return _Clipped(self.norm, 2, lambda n: rng.normal(0, self.multiplier * self.norm / threat.batch, n))

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return ``Phi(Phi^-1(1/K) + mu)``, ``mu = sqrt(exposures) / multiplier``, for equal shares; see the module."""
        told = facts(threat)
        if told.clip > self.norm:  # another guard has lengthened what was clipped
            return ()
        mu = certificates.training_mu(self.multiplier, self.exposures)
        accuracy = certificates.gaussian(mu, told.prior)
        return certified(told, self, accuracy, "labelinf theory, certificates: Gaussian")


@attrs.frozen(kw_only=True)
class ClippedLaplace(GradientDefence):
    """Clips each sample's gradient to a 1-norm and adds Laplace noise: pure label-DP (and more: sample-level DP).

    A gradient has many entries, so that a bounded 1-norm leaves little of it: most of the budget is wasted.

    Attributes:
        norm: Largest sum of absolute entries S, more than 0.
        epsilon: Privacy of one release; the noise has scale ``2 S / epsilon``.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    @property
    def transparent(self) -> bool:
        """It adds noise."""
        return True

    def tell(self, threat: ThreatModel) -> ThreatModel:
        """Say how far gradients reach, how large the noise is, and that it is label-DP where nothing comes between.

        The local steps of a whole batch move its network by every label: there one label changes all gradients.
        """
        told = facts(threat)
        private = hides_the_clipped(told, self) and not (told.batch > 1 and told.steps > 1)
        std = math.sqrt(2) * 2 * self.norm / self.epsilon / told.batch
        return attrs.evolve(
            told,
            clip=min(told.clip, self.norm),
            noise_std=math.hypot(told.noise_std, std),
            label_epsilon=min(told.label_epsilon, self.epsilon) if private else told.label_epsilon,
        )

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        """Return what clips and adds noise."""
        scale = 2 * self.norm / self.epsilon / threat.batch
        return _Clipped(self.norm, 1, lambda n: rng.laplace(0, scale, n))

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return ``min(h / K, 1 - (1 - 1/K) / h)``, ``h = e^(epsilon / 2)``, for equal shares; see the module."""
        told = facts(threat)
        if told.clip > self.norm:  # another guard has lengthened what was clipped
            return ()
        accuracy = certificates.laplace(self.epsilon, told.prior)
        return certified(told, self, accuracy, "labelinf theory, certificates: Laplace")


class _Clipped(Guard):
    def __init__(self, norm: float, order: int, noise: Noise | None = None) -> None:
        self._norm, self._order, self._noise = norm, order, noise

    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        size = np.linalg.norm(gradients, ord=self._order, axis=1, keepdims=True)
        return np.asarray(gradients * np.minimum(1, self._norm / np.maximum(size, np.finfo(float).tiny)))

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        return gradient if self._noise is None else gradient + self._noise(gradient.size)
