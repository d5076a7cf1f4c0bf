"""What can be guessed without looking at a gradient: every other row of a table stands beside these."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import given, spread_counts
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat
from labelinf_gradients.game.networks import softmax

__all__ = ["ModelPrediction", "PriorGuess", "UniformGuess"]


@attrs.frozen(kw_only=True)
class UniformGuess(GradientAttack):
    """Guesses every class equally often: the chance level of label counts, which rises with the batch."""

    blind: ClassVar[bool] = True

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Deal all classes in turn, in a fresh random order, to every release."""
        threat = oracle.threat
        rounds = -(-threat.batch // threat.n_classes)
        labels = [
            np.concatenate([rng.permutation(threat.n_classes) for _ in range(rounds)])[: threat.batch]
            for _ in range(threat.n_records // threat.batch)
        ]
        return Guess(labels=np.concatenate(labels))


@attrs.frozen(kw_only=True)
class PriorGuess(GradientAttack):
    """Guesses the label counts that overlap most with a batch on average; for one sample, the majority class."""

    blind: ClassVar[bool] = True

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Guess the same counts for every release."""
        counts = np.tile(oracle.threat.best_counts, (oracle.threat.n_records // oracle.threat.batch, 1))
        return Guess(labels=spread_counts(counts), evidence={"expected accuracy": oracle.threat.baseline})


@attrs.frozen(kw_only=True)
class ModelPrediction(GradientAttack):
    """Guesses what the network itself predicts, where inputs are public: no gradient is needed for that."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It needs the samples' inputs."""
        return "" if threat.features_public else "needs public features"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Predict every sample."""
        inputs = given(oracle.inputs)
        features = oracle.network.features(inputs.reshape(-1, inputs.shape[-1]))
        return Guess(labels=softmax(oracle.network.classifier(features)).argmax(axis=1))
