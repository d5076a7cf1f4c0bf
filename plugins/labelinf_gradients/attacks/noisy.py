"""Attacks on noisy, clipped or otherwise altered gradients of single samples: they ask for the hard label only."""

from __future__ import annotations

import enum

import attrs
import numpy as np

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import one_sample_each
from labelinf_gradients.game.gradient import GradientAttack, GradientGuess, GradientOracle, GradientThreat
from labelinf_gradients.noisy.filters import filtered, principal_directions
from labelinf_gradients.noisy.likelihood import likeliest_scales
from labelinf_gradients.recovery.factor import principal
from labelinf_gradients.recovery.patterns import BY_FAMILY
from labelinf_gradients.recovery.problem import Problem

__all__ = ["FilterDirection", "Likelihood", "MatchedFilter"]


class FilterDirection(enum.Enum):
    """Where a matched filter takes the direction of the feature from."""

    ONES = "ones"
    """Row sums: right for non-negative features."""

    MEAN = "mean"
    """The mean feature of the adversary's own samples."""

    SINGULAR = "singular"
    """The gradient's own leading singular vector, turned to a non-negative sum."""


@attrs.frozen(kw_only=True)
class MatchedFilter(GradientAttack):
    """Guesses the row that points most clearly away from a direction (labelinf theory, noise).

    Attributes:
        direction: ``ones``, ``mean`` or ``singular``.
    """

    direction: FilterDirection = FilterDirection.MEAN

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It reads single samples, and for the mean direction needs samples of its own."""
        if self.direction is FilterDirection.MEAN and not threat.auxiliary:
            return "needs auxiliary samples"
        return one_sample_each(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Filter every release."""
        gradients = oracle.weight_gradients
        if self.direction is FilterDirection.SINGULAR:
            return Guess(labels=filtered(gradients, principal_directions(gradients)))
        direction = np.ones(gradients.shape[2])
        if self.direction is FilterDirection.MEAN and oracle.auxiliary is not None:
            direction = oracle.network.features(oracle.auxiliary[0]).mean(axis=0).astype(np.float64)
        return Guess(labels=filtered(gradients, direction))


@attrs.frozen(kw_only=True)
class Likelihood(GradientAttack):
    """Fits scale and label to the leading singular pair by least squares (labelinf theory, noise)."""

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It reads single samples."""
        return one_sample_each(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Fit every release."""
        classifier = oracle.network.classifier
        parts = principal(oracle.weight_gradients, nonnegative=oracle.nonnegative)
        problem = Problem(
            column=parts.column,
            slopes=parts.direction @ classifier.weights.T.astype(np.float64),
            offsets=None if classifier.bias is None else classifier.bias.astype(np.float64),
        )
        lost = np.asarray(~problem.column.any(axis=1))
        problem = attrs.evolve(problem, column=np.where(lost[:, None], 1.0, problem.column))
        scales = likeliest_scales(problem, BY_FAMILY[oracle.threat.family], positive=oracle.nonnegative)
        soft = np.clip(problem.labels(scales), 0, None)
        labels = np.where(lost, oracle.threat.majority, soft.argmax(axis=1))
        total = soft.sum(axis=1, keepdims=True)
        return GradientGuess(labels=labels, soft=soft / np.where(total > 0, total, 1))
