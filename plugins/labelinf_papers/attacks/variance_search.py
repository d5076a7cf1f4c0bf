"""The paper's own attack, as a baseline: search one scalar that makes the label's other entries alike."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import one_sample_each
from labelinf_gradients.game.gradient import GradientAttack, GradientGuess, GradientOracle, GradientThreat
from labelinf_gradients.recovery.patterns import BY_FAMILY
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import Objective, label_loss

__all__ = ["VarianceSearch"]


@attrs.frozen(kw_only=True)
class VarianceSearch(GradientAttack):
    """L-BFGS, then particle swarms, over one scalar (Wang et al., ICLR 2024, Algorithms 1 and 2).

    Attributes:
        target: ``variance`` (eq. 5), ``zeros`` or ``negatives`` (Appendix C).
        population: Particles per swarm.
        iterations: Moves per swarm.
    """

    example_parameters: ClassVar[dict[str, Any]] = {"population": 40, "iterations": 5}

    target: Objective = Objective.VARIANCE
    population: int = attrs.field(default=500, validator=attrs.validators.ge(2))
    iterations: int = attrs.field(default=40, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It reads single samples, and takes a network without a last bias."""
        if threat.has_bias:
            return "needs a last layer without bias"
        if threat.n_classes < BY_FAMILY[threat.family].excluded + 2:
            return "needs more classes"
        return one_sample_each(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Search every release; where the search gives up, guess the majority class."""
        threat = oracle.threat
        excluded = BY_FAMILY[threat.family].excluded
        soft = np.full((threat.n_records, threat.n_classes), 1 / threat.n_classes)
        labels = np.full(threat.n_records, threat.majority)
        gave_up = 0
        for at, gradient in enumerate(oracle.weight_gradients):
            coefficient = 4.0 / excluded
            if not gradient.any():
                gave_up += 1
                continue
            weights = oracle.network.classifier.weights
            loss = label_loss(gradient, weights, coefficient=coefficient, excluded=excluded, target=self.target)
            found = search(loss, rng, population=self.population, iterations=self.iterations)
            if np.isnan(found.scalar):
                gave_up += 1
                continue
            soft[at] = loss.labels(np.array([found.scalar]))[0]
            labels[at] = soft[at].argmax()
        return GradientGuess(labels=labels, soft=soft, evidence={"gave up": gave_up})
