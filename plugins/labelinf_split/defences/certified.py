"""What is proved to hide labels: randomised response, and Gaussian noise of a public scale (V14, V16, V17).

*Randomised response* holds for any top and any number of epochs, **if** each person has one stored draw, kept over
epochs, runs and restarts, and clean labels are used for nothing else. *Noise* holds of T releases of a person, **if**
(a) its scale depends on no data, (b) one label moves a gradient by a known radius at most for every embedding that may
be sent, and (c) the label party keeps nothing that depends on labels but what it releases: a top that learns from clean
labels tells them through other records' gradients, whatever their noise (V15).

What is released lies on a grid that is fixed beforehand, and so does the noise, so that its low bits tell nothing.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import UnfitError
from labelinf_core.contracts.gate import positive
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.label_noise.exact import no_less
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.words import SeededWords
from labelinf_split.game.effects import CutNoise, LabelsRandomised
from labelinf_split.game.view import CutBatch, Floats, Labels, Side, SplitDefence, SplitThreat

__all__ = ["CutGaussian", "CutLabelRr", "LineOnlyNoise", "grid_step", "noisy"]


def grid_step(scale: float) -> float:
    """Return the step of the grid for noise of a scale: a power of two, 16 bits below it."""
    return math.ldexp(1.0, math.floor(math.log2(scale)) - 16)


def noisy(values: Floats, scale: float, rng: np.random.Generator) -> Floats:
    """Return values on the grid, with Gaussian noise rounded to the same grid."""
    step = grid_step(scale)
    drawn = GridGaussian(scale=scale, step=step).steps(SeededWords(rng), values.size)
    whole = np.rint(values.astype(np.float64) / step).astype(np.int64)
    return np.asarray((whole + drawn.reshape(values.shape)) * step)


@attrs.frozen(kw_only=True)
class CutLabelRr(SplitDefence):
    """Keeps each label with probability ``e^eps / (e^eps + K - 1)``, else replaces it by another class, once.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (LabelsRandomised(epsilon=no_less(self.epsilon, threat.n_classes)),)

    def trained(self, labels: Labels, n_classes: int, rng: np.random.Generator) -> Labels:
        """Draw."""
        return RandomisedResponse(epsilon=self.epsilon).sample(labels, n_classes, rng)


@attrs.frozen(kw_only=True)
class CutGaussian(SplitDefence):
    """Clips every gradient, if asked to, and adds Gaussian noise to every entry.

    Attributes:
        scale: Standard deviation s of the noise, more than 0.
        norm: Longest gradient that is released; 0: none is clipped.
    """

    scale: float = attrs.field(default=4.0, validator=positive)
    norm: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0), attrs.validators.lt(math.inf)])

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Clip and noise."""
        return (CutNoise(scale=self.scale, step=grid_step(self.scale), norm=self.norm or math.inf),)

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Clip and add noise."""
        sent = batch.gradients.astype(np.float64)
        if self.norm:
            sent *= np.minimum(1, self.norm / np.maximum(np.linalg.norm(sent, axis=1, keepdims=True), 1e-300))
        return noisy(sent, self.scale, rng)


@attrs.frozen(kw_only=True)
class LineOnlyNoise(SplitDefence):
    """Noise along a linear top's own weight alone, alike for both of two classes: Marvell repaired.

    One label moves a gradient by ``w = w_1 - w_0`` exactly. Noise sized by the longest gradient, half of it at p = 1/2,
    lets Phi(1) = .841 be read where Phi(1/2) = .691 is said.

    Attributes:
        scale: Standard deviation of the noise, in lengths of the weight, more than 0.
    """

    scale: float = attrs.field(default=4.0, validator=positive)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Noise along a line.

        Raises:
            UnfitError: There is none.
        """
        if isinstance(threat, SplitThreat) and (threat.run.top is not Side.LINEAR or threat.n_classes != 2):
            raise UnfitError("line-noise needs two classes and a linear top.")
        return (CutNoise(scale=self.scale, step=grid_step(self.scale), line=True),)

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Add noise along the line; what rounding left beside it is dropped."""
        assert batch.top is not None  # effects() asks for a linear top
        weight = batch.top[1].astype(np.float64) - batch.top[0]
        share = batch.gradients.astype(np.float64) @ weight / max(float(weight @ weight), 1e-300)
        if 100 * (weight @ weight) < np.square(batch.top).sum():  # rounding of all but equal rows could reach far
            share = np.zeros_like(share)
        return np.asarray(noisy(share, self.scale, rng)[:, None] * weight)
