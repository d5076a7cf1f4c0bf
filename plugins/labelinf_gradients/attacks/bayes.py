"""Bayes rules for noisy gradients: compare a release with what it would be without noise, for every class.

Where the sample's input is public, that is one gradient per class. Where it is not, the adversary's own samples stand
for the unknown one: a mixture of their gradients per class.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import flat, given, one_sample_each
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat, LabelFamily
from labelinf_gradients.noisy.filters import likeliest_mixtures

__all__ = ["KnownFeatures", "OwnSamples"]


@attrs.frozen(kw_only=True)
class KnownFeatures(GradientAttack):
    """Compares a release with what every class would have sent, where the sample's input is public.

    For Gaussian noise this is the Bayes rule: no attack on the released layers does better.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs the samples' inputs."""
        return one_sample_each(threat) if threat.features_public else "needs public features"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Compare every release with its candidates, clipped as the client clips."""
        threat, classes, rows = oracle.threat, np.arange(oracle.threat.n_classes), []
        for x, sent in zip(given(oracle.inputs)[:, 0], flat(oracle.releases), strict=True):
            own = _would_send(oracle, np.tile(x, (threat.n_classes, 1)), np.eye(threat.n_classes))
            rows.append(likeliest_mixtures(sent[None], own, classes, threat.prior, threat.noise_std)[0])
        return Guess(labels=np.array(rows, dtype=np.intp))


@attrs.frozen(kw_only=True)
class OwnSamples(GradientAttack):
    """Compares a release with the gradients of the adversary's own samples, class by class (labelinf theory, noise).

    The likelihood of a class is the mean over its samples: the Bayes rule as far as they are like the client's.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs noise, one-hot labels and samples of its own."""
        if threat.batch > 1:
            return one_sample_each(threat)
        if not 0 < threat.noise_std < math.inf:
            return "needs noise of known size"
        if threat.family is not LabelFamily.ONE_HOT:
            return "needs one-hot labels"
        return "" if threat.auxiliary else "needs auxiliary samples"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Compare every release with every sample."""
        (x, classes), threat = given(oracle.auxiliary), oracle.threat
        own = _would_send(oracle, x, np.eye(threat.n_classes)[classes])
        labels = likeliest_mixtures(flat(oracle.releases), own, classes, threat.prior, threat.noise_std)
        return Guess(labels=labels)


def _would_send(oracle: GradientOracle, x: NDArray[Any], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what samples would release without noise, clipped as the client clips, shape ``(n, d)``."""
    own = oracle.network.gradients(x, labels)
    rows = flat({name: own[name] for name in oracle.releases})
    if math.isfinite(oracle.threat.clip):
        size = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        rows *= np.minimum(1, oracle.threat.clip / size)
    return rows
