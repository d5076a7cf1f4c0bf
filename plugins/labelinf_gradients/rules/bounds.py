"""Rules for bounds of the gradient channel: no guess beats a ceiling where all releases can be enumerated.

One sample, whose gradient is one number: at one end of what the clip allows, at the other, or between them, one for
each class. On a grid of a quarter of the clip, under noise that is rounded to it, everything that can be released has a
probability; the best guess of all is a sum over it. Nothing is simulated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Rule
from labelinf_core.testing.bounds import RULES as ALL
from labelinf_core.testing.bounds import never_contradicted, speaks_of
from labelinf_gradients.game.effects import GaussianNoise, LaplaceNoise, NoiseAdded, NormClipped
from labelinf_gradients.game.gradient import GradientThreat
from labelinf_gradients.rules import attacks

__all__ = ["RULES"]

_CLIP, _STEP = 1.0, 0.25
_SHARES = ((0.5, 0.5), (0.8, 0.2), (1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1))
_FAR = 400  # steps beyond which nothing is released to speak of

Law = Callable[[float], float]  #: the distribution function of the noise


def _laplace(scale: float) -> Law:
    return lambda x: 0.5 * math.exp(x / scale) if x < 0 else 1 - 0.5 * math.exp(-x / scale)


def _noises() -> Iterator[tuple[NoiseAdded, Law]]:
    for std in (0.5, 2.0):
        proof = GaussianNoise(std=std)
        yield NoiseAdded(std=std, of_sum=True, step=_STEP, proof=proof), NormalDist(0, std).cdf
    for epsilon in (0.5, 2.0):
        scale = 2 * _CLIP / epsilon
        noise = NoiseAdded(
            std=scale * math.sqrt(2), of_sum=True, step=_STEP, proof=LaplaceNoise(norm=_CLIP, privacy=epsilon)
        )
        yield noise, _laplace(scale)


def _released(gradient: float, law: Law) -> NDArray[np.float64]:
    """Return how likely every multiple of the step is, of a gradient that is one itself."""
    edges = (np.arange(-_FAR, _FAR + 2) - 0.5) * _STEP - gradient
    return np.diff([law(float(edge)) for edge in edges])


def _games() -> Iterator[tuple[GradientThreat, float]]:
    """Yield games and the accuracy of the best guess of all."""
    for shares, (noise, law) in itertools.product(_SHARES, _noises()):
        threat = GradientThreat(
            n_records=4, n_classes=len(shares), prior=shares, effects=(NormClipped(norm=_CLIP, order=1), noise)
        )
        ends = (-_CLIP, _CLIP, 0.0)[: len(shares)]
        best = float(np.max([p * _released(end, law) for p, end in zip(shares, ends, strict=True)], axis=0).sum())
        yield threat, best


RULES: tuple[Rule, ...] = (
    *ALL,
    speaks_of(attacks.RULES.threats),
    never_contradicted(_games),
)  #: what every bound of this channel is held to
