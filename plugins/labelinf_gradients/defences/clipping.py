"""Clipping each sample's gradient, alone and with the noise that makes it private.

Private noise keeps its promise in floating point: samples are cut to whole steps of a grid fixed beforehand, their
lengths are checked in whole numbers, and the noise is the exact rounding of real noise to the same grid
(:mod:`labelinf_privacy.deviates`). So what leaves the client is the rounding of what the proof is about, and its low
bits say nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.effects import GaussianNoise, GradientFacts, LaplaceNoise, NoiseAdded, NormClipped
from labelinf_gradients.game.gradient import ActiveGradientDefence, GradientDefence, GradientThreat, Layout
from labelinf_privacy.deviates import Deviates, exponential, normal, signs
from labelinf_privacy.words import SeededWords, SystemWords, Words

__all__ = ["ClippedGaussian", "ClippedLaplace", "GradientClip"]

_FINE = 20  # bits of the smaller of clip and noise scale, in steps of the grid,
_WIDE = 45  # unless the larger one would have more than these: floats hold sums of such numbers
_AHEAD = 4096  # whole numbers of noise drawn at once
_CLOSE = 1e-9  # relative: so near to the clip a length computed in floats does not decide


@attrs.frozen(kw_only=True)
class GradientClip(GradientDefence):
    """Scales each sample's gradient down to a norm. Certifies nothing by itself: directions remain.

    Attributes:
        norm: Largest norm, more than 0.
        order: 2 for the Euclidean norm, 1 for the sum of absolute entries.
    """

    norm: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    order: int = attrs.field(default=2, validator=attrs.validators.in_((1, 2)))

    def effects(self, threat: ThreatModel) -> tuple[NormClipped]:
        """Say how far gradients reach."""
        return (NormClipped(norm=self.norm, order=self.order),)

    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Scale down what is longer than the norm."""
        size = np.linalg.norm(gradients, ord=self.order, axis=1, keepdims=True)
        return np.asarray(gradients * np.minimum(1, self.norm / np.maximum(size, np.finfo(float).tiny)))

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Return the norm."""
        title = "clipping alone, norm of one sample's gradient"
        return (TunableParameter(title=title, template="gradient-clip(norm={})", weakest=10.0, strongest=1e-3),)


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

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        """Say how far gradients reach, how large the noise is, and what is proved of it."""
        std = self.multiplier * self.norm
        proof = GaussianNoise(std=std, exposures=self.exposures)
        step = _step(self.norm, std)
        return NormClipped(norm=self.norm), NoiseAdded(std=std, of_sum=True, step=step, proof=proof)

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        """Return what clips and adds noise."""
        return self._stage(threat.batch, SeededWords(rng))

    def deployed(self) -> ActiveGradientDefence:
        """Return the same for single samples, with noise that nobody can draw again: the system's randomness."""
        return self._stage(1, SystemWords())

    def _stage(self, batch: int, source: Words) -> ActiveGradientDefence:
        return _ClippedNoise(self.norm, 2, batch, self.multiplier * self.norm, normal, source)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Return the noise multiplier."""
        title = "Gaussian noise on clipped gradients, multiplier of the clip"
        return (
            TunableParameter(title=title, template="clipped-gaussian(multiplier={})", weakest=0.01, strongest=100.0),
        )


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
    def _proof(self) -> LaplaceNoise:
        return LaplaceNoise(norm=self.norm, privacy=self.epsilon)

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        """Say how far gradients reach, how large the noise is, and what is proved of it."""
        proof = self._proof
        step, std = _step(self.norm, proof.scale), math.sqrt(2) * proof.scale
        return NormClipped(norm=self.norm, order=1), NoiseAdded(std=std, of_sum=True, step=step, proof=proof)

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        """Return what clips and adds noise."""
        return _ClippedNoise(self.norm, 1, threat.batch, self._proof.scale, exponential, SeededWords(rng))

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Return epsilon."""
        title = "Laplace noise on clipped gradients, epsilon of one release"
        return (TunableParameter(title=title, template="clipped-laplace(epsilon={})", weakest=1000.0, strongest=0.01),)


def _step(norm: float, scale: float) -> float:
    """Return the step of the grid on which a batch's sum and its noise lie: fixed before any gradient is seen."""
    small, large = (math.ceil(math.log2(size)) for size in sorted((norm, scale)))
    return math.ldexp(1.0, max(small - _FINE, large - _WIDE))


class _ClippedNoise(ActiveGradientDefence):
    """Clips, cuts to whole steps and adds noise in whole steps, which are a power of two: floats hold them."""

    def __init__(
        self, norm: float, order: int, batch: int, scale: float, law: Callable[[Words, int], Deviates], source: Words
    ) -> None:
        self._clip, self._order = GradientClip(norm=norm, order=order), order
        self._batch, self._law, self._source, self._step = batch, law, source, _step(norm, scale)
        self._ahead = np.zeros(0, dtype=np.int64)
        self._reach = math.floor(Fraction(norm) / Fraction(self._step))
        self._scale = Fraction(scale) / Fraction(self._step)

    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        # No clip shortens what is no number, and as a whole number it would be the largest there is.
        clipped = self._clip.examples(np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0), layout)
        return np.array([self._whole_steps(row) for row in clipped], dtype=np.float64) * self._step

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        total = gradient * self._batch
        steps = self._whole_steps(total) if self._batch == 1 else np.rint(total / self._step).astype(np.int64)
        return np.asarray((steps + self._noise(steps.size)) * (self._step / self._batch))

    def _noise(self, size: int) -> NDArray[np.int64]:
        """Return whole numbers of steps of noise, drawn ahead: one release may need few of them."""
        if size > self._ahead.size:
            n = max(size, _AHEAD)
            more = signs(self._source, n) * self._law(self._source, n).rounded(self._scale, self._source)
            self._ahead = np.append(self._ahead, more)
        drawn, self._ahead = np.split(self._ahead, [size])
        return np.asarray(drawn)

    def _whole_steps(self, gradient: NDArray[np.float64]) -> NDArray[np.int64]:
        """Cut towards zero, then once more until the length, in whole numbers, is no more than the clip."""
        steps = (gradient / self._step).astype(np.int64)
        while abs(np.linalg.norm(steps, ord=self._order) / max(self._reach, 1) - 1) < _CLOSE and not self._fits(steps):
            steps = (steps * (1 - 2 * _CLOSE)).astype(np.int64)
        return steps

    def _fits(self, steps: NDArray[np.int64]) -> bool:
        """Return whether these are no longer than the clip, in whole numbers of any size."""
        whole = np.abs(steps).astype(object)
        return bool((whole**self._order).sum() <= self._reach**self._order)
