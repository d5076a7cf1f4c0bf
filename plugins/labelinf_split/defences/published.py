"""What is published to hide labels, and certifies nothing: noise of the batch, Marvell, few levels, smoothed labels.

The sign of ``p - y`` is the label and levels keep signs (V13); a smoothed label is a function of the label (V1b).
Max-norm and iso take their scale from the clean gradients of the batch: of a fitted batch the label of one record was
read from the *other* records' noised gradients, 200 of 200 (V14). Max-norm lies on the gradient's own line (V11).

Marvell bounds the area under any attack's curve by its sumKL, and the premises of that bound fail (V10): its optimum
leaves one class in the span of the clean gradients (E-M1), it hides means while a record's own label moves its gradient
by the top's whole weight (E-M2), and it holds of one release only (E-M3). ``noise-subspace`` reads it.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from scipy.optimize import minimize

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import UnfitError
from labelinf_core.contracts.gate import positive
from labelinf_core.contracts.threat import ThreatModel
from labelinf_split.game.effects import CutChanged, LabelsSmoothed
from labelinf_split.game.view import CutBatch, Floats, SplitDefence, SplitThreat

__all__ = ["CutLevels", "CutSmoothing", "IsoNoise", "Marvell", "MaxNorm", "least_sum_kl", "sum_kl"]

_FLOOR = 1e-6  # spreads below this share of the gap are taken for it: the objective divides by them


class _OfTheBatch(SplitDefence):
    """What is done to a gradient depends on others of its batch."""

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """One label reaches other records' gradients."""
        return (CutChanged(alone=False),)


@attrs.frozen(kw_only=True)
class MaxNorm(_OfTheBatch):
    """Stretches every gradient at random, so that on average all are as long as the batch's longest."""

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Stretch along its own line."""
        sent = batch.gradients.astype(np.float64)
        lengths = np.linalg.norm(sent, axis=1, keepdims=True)
        spread = np.sqrt(np.maximum((lengths.max() / np.maximum(lengths, 1e-300)) ** 2 - 1, 0))
        return np.asarray(sent * (1 + spread * rng.standard_normal((len(sent), 1))))


@attrs.frozen(kw_only=True)
class IsoNoise(_OfTheBatch):
    """Adds spherical Gaussian noise, its length a multiple of the batch's longest gradient.

    Attributes:
        ratio: Of lengths, more than 0.
    """

    ratio: float = attrs.field(default=2.0, validator=positive)

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Add noise."""
        sent = batch.gradients.astype(np.float64)
        scale = self.ratio * float(np.linalg.norm(sent, axis=1).max()) / math.sqrt(sent.shape[1])
        return np.asarray(sent + scale * rng.standard_normal(sent.shape))


@attrs.frozen(kw_only=True)
class CutLevels(SplitDefence):
    """Releases the nearest multiple of a step up to a limit, or the sign alone.

    Attributes:
        step: At least 0; 0 releases the limit with the sign of the entry.
        limit: Largest absolute entry, more than 0.
    """

    step: float = attrs.field(default=1 / 12, validator=attrs.validators.ge(0))
    limit: float = attrs.field(default=0.5, validator=positive)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Every entry by itself."""
        return (CutChanged(alone=True),)

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Round."""
        if not self.step:
            return np.asarray(np.sign(batch.gradients) * self.limit)
        return np.asarray(np.rint(np.clip(batch.gradients, -self.limit, self.limit) / self.step) * self.step)


@attrs.frozen(kw_only=True)
class CutSmoothing(SplitDefence):
    """Trains on labels of which a share is spread evenly over all classes (Szegedy et al., CVPR 2016).

    Attributes:
        share: In [0, 1).
    """

    share: float = attrs.field(default=0.1, validator=[attrs.validators.ge(0), attrs.validators.lt(1)])

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """The game does it to all labels alike."""
        return (LabelsSmoothed(share=self.share),)


def sum_kl(noise: Floats, u: float, v: float, gap: float, width: int) -> float:
    """Return ``((n - 1) (A2 / B2 + B2 / A2) + (A1 + G) / B1 + (B1 + G) / A1) / 2 - n`` (Li et al., Theorem 2).

    ``noise`` are variances across the difference of the classes' means, and what there is more along it, of class 0 and
    of class 1; A and B add their spreads u and v to these.
    """
    across, along = (noise[0] + u, noise[2] + v), (noise[0] + noise[1] + u, noise[2] + noise[3] + v)
    ratio = across[0] / across[1]
    means = (along[0] + gap) / along[1] + (along[1] + gap) / along[0]
    return float(((width - 1) * (ratio + 1 / ratio) + means) / 2 - width)


def least_sum_kl(u: float, v: float, gap: float, width: int, share: float, power: float) -> Floats:
    """Return what :func:`sum_kl` is least of, of an average power of ``power gap``; ``share`` is that of class 1."""
    u, v = max(u / gap, _FLOOR), max(v / gap, _FLOOR)
    unit = np.array([max(u, v), 1, max(u, v), 1])  # what is across is as small as the spread of a fitted class
    cost = np.array([(1 - share) * width, 1 - share, share * width, share]) * unit
    limit = {"type": "ineq", "fun": lambda x: power - cost @ x, "jac": lambda x: -cost}
    known: dict[str, Any] = {"method": "SLSQP", "bounds": [(0, None)] * 4, "constraints": [limit]}

    def told(x: Floats) -> float:
        return sum_kl(x * unit, u, v, 1.0, width)

    begin = [np.array([1.0, power, 0.01, power]), np.array([0.01, power, 1.0, power])]
    tried = [minimize(told, power * x / (cost @ x), options={"ftol": 1e-10}, **known) for x in begin]
    best = min(tried, key=lambda each: float(each.fun)).x
    return np.asarray(np.maximum(np.where(best < 1e-6, 0, best), 0) * unit * gap)


@attrs.frozen(kw_only=True)
class Marvell(_OfTheBatch):
    """Adds the noise of least sumKL to the gradients of two classes.

    Attributes:
        power: Of the noise, in squared distances of the class means, more than 0.
    """

    power: float = attrs.field(default=4.0, validator=positive)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """It reads all labels of the batch.

        Raises:
            UnfitError: There are more than two classes.
        """
        if isinstance(threat, SplitThreat) and threat.n_classes != 2:
            raise UnfitError("marvell needs two classes.")
        return super().effects(threat)

    def released(self, batch: CutBatch, rng: np.random.Generator) -> Floats:
        """Add noise; a batch of one class stays as it is, as published."""
        sent, labels = batch.gradients.astype(np.float64), batch.labels
        parts = [sent[labels == k] for k in (0, 1)]
        if not all(map(len, parts)):
            return sent
        means = [part.mean(axis=0) for part in parts]
        line, width = means[1] - means[0], sent.shape[1]
        gap = float(line @ line)
        if gap <= 1e-30:
            return sent
        u, v = (
            float(np.square(part - mean).sum(axis=1).mean()) / width for part, mean in zip(parts, means, strict=True)
        )
        noise = least_sum_kl(u, v, gap, width, float(labels.mean()), self.power).reshape(2, 2)[labels]
        across = np.sqrt(noise[:, :1]) * rng.standard_normal(sent.shape)
        along = np.sqrt(noise[:, 1:]) * rng.standard_normal((len(sent), 1)) * line / np.sqrt(gap)
        return np.asarray(sent + across + along)
