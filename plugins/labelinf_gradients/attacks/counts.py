"""Attacks on batches that guess how often every class occurs."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import given, no_bias, spread_counts
from labelinf_gradients.batches import counts
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat
from labelinf_gradients.game.networks import softmax

__all__ = [
    "Dictionary",
    "Ilrg",
    "Interpolated",
    "Llg",
    "Moments",
    "Rlg",
    "Yin",
    "class_gradients",
    "class_means",
    "features_of_auxiliary",
]


@attrs.frozen(kw_only=True)
class Yin(GradientAttack):
    """Takes the rows of least minima, distinct classes (Yin et al., GradInversion, 2021)."""

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        return Guess(labels=spread_counts(counts.by_yin(oracle.weight_gradients, oracle.threat.batch)))


@attrs.frozen(kw_only=True)
class Llg(GradientAttack):
    """Takes negative row sums greedily (LLG, Wainakh et al., 2022)."""

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        return Guess(labels=spread_counts(counts.by_llg(oracle.weight_gradients, oracle.threat.batch)))


@attrs.frozen(kw_only=True)
class Rlg(GradientAttack):
    """Finds the classes that are present by linear programmes (RLG, Dang et al., 2021)."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It is exact only where a batch leaves room in the column space."""
        return "" if threat.batch < threat.n_classes - 1 else "needs a batch smaller than K - 1"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        return Guess(labels=spread_counts(counts.by_rlg(oracle.weight_gradients, oracle.threat.batch)))


@attrs.frozen(kw_only=True)
class Ilrg(GradientAttack):
    """Solves for the counts with each row's own quotient as its class's feature (iLRG, Ma et al., 2023)."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs the gradient of the last bias."""
        return no_bias(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        bias = given(oracle.bias_gradients)
        found = counts.by_ilrg(oracle.weight_gradients, bias, oracle.network.classifier, oracle.threat.batch)
        return Guess(labels=spread_counts(found))


@attrs.frozen(kw_only=True)
class Moments(GradientAttack):
    """Solves for the counts with mean probabilities of the adversary's own data (labelinf theory, batches)."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs the gradient of the last bias and auxiliary samples."""
        return no_bias(threat) or _no_samples(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        probabilities = softmax(oracle.network.classifier(features_of_auxiliary(oracle)))
        means = class_means(probabilities, given(oracle.auxiliary)[1], oracle.threat.n_classes)
        found = counts.by_moments(given(oracle.bias_gradients), means, oracle.threat.batch)
        return Guess(labels=spread_counts(found))


@attrs.frozen(kw_only=True)
class Interpolated(GradientAttack):
    """Counts behind local steps by networks interpolated between the first and the last (Dimitrov et al., 2022).

    Its inputs are the adversary's own samples, which is more than the made ones of the paper.
    """

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs the gradient of the last bias and auxiliary samples."""
        return no_bias(threat) or _no_samples(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        threat = oracle.threat
        found = counts.by_interpolation(
            oracle.weight_gradients,
            given(oracle.bias_gradients),
            oracle.network.classifier,
            features_of_auxiliary(oracle),
            batch=threat.batch,
            steps=threat.steps,
            rate=threat.rate,
        )
        return Guess(labels=spread_counts(found))


@attrs.frozen(kw_only=True)
class Dictionary(GradientAttack):
    """Writes a release as a sum of the mean gradients of the adversary's own data (labelinf theory, batches)."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs auxiliary samples."""
        return _no_samples(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Count every release."""
        found = counts.by_dictionary(oracle.weight_gradients, class_gradients(oracle), oracle.threat.batch)
        return Guess(labels=spread_counts(found))


def _no_samples(threat: GradientThreat) -> str:
    return "" if threat.auxiliary else "needs auxiliary samples"


def features_of_auxiliary(oracle: GradientOracle) -> NDArray[np.float64]:
    """Return the last-layer features of the adversary's own samples, shape ``(n, I)``."""
    return oracle.network.features(given(oracle.auxiliary)[0]).astype(np.float64)


def class_gradients(oracle: GradientOracle) -> NDArray[np.float64]:
    """Return the mean last-layer gradient of the adversary's own samples of every class, shape ``(C, C, I)``."""
    features, (_, classes), n_classes = features_of_auxiliary(oracle), given(oracle.auxiliary), oracle.threat.n_classes
    errors = softmax(oracle.network.classifier(features)) - np.eye(n_classes)[classes]
    own = errors[:, :, None] * features[:, None, :]
    means = class_means(own.reshape(len(own), -1), classes, n_classes)
    return means.reshape(n_classes, *own.shape[1:])


def class_means(values: NDArray[np.float64], classes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return the mean of ``values`` over the samples of every class; the overall mean for a class without any."""
    present = [classes == k for k in range(n_classes)]
    return np.array([values[own].mean(axis=0) if own.any() else values.mean(axis=0) for own in present])
