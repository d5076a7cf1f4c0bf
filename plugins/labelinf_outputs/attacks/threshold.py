"""LIA-Threshold (Khan et al., BLIA, 2025, Algorithm 5.1): class 1 wherever its probability reaches a threshold.

The threshold is 0.5, or the mean or the median of the probabilities of class 1. With K classes every class has a
threshold of its own (1/K, mean, median), and the class that exceeds its own by most is guessed; for K = 2 that is the
published rule. The attack sees 56 % of the labels of a well-generalising model where 90 % can be had: the model's
opinion of the *record* drowns what it remembers of the *label*.

Example:
    >>> threshold(np.array([[0.6, 0.4], [0.2, 0.8]]), Level.FIXED)
    array([0, 1])
"""

from __future__ import annotations

import enum

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.game.output import OutputOracle

__all__ = ["Level", "Threshold", "threshold"]

Floats = NDArray[np.float64]


class Level(enum.Enum):
    """Where the threshold lies."""

    FIXED = "fixed"
    MEAN = "mean"
    MEDIAN = "median"

    def of(self, probabilities: Floats) -> Floats:
        """Return the threshold of every class, shape ``(K,)``."""
        if self is Level.FIXED:
            n_classes = probabilities.shape[1]
            return np.full(n_classes, 1 / n_classes)
        column = np.mean if self is Level.MEAN else np.median
        return np.asarray(column(probabilities, axis=0))


def threshold(probabilities: Floats, level: Level) -> NDArray[np.intp]:
    """Return the guessed classes, shape ``(n,)``."""
    levels = level.of(probabilities)
    if probabilities.shape[1] == 2:
        return np.asarray(probabilities[:, 1] >= levels[1], dtype=np.intp)
    return best_class(probabilities - levels)


@attrs.frozen(kw_only=True)
class Threshold(AbstainingAttack):
    """Guesses by the model's own prediction; needs nothing but probabilities.

    Attributes:
        level: ``fixed``, ``mean`` or ``median``.
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    level: Level = Level.FIXED

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Compare with the threshold; the distance to it is the confidence."""
        probabilities = oracle.query().probabilities
        confidence = lead(probabilities - self.level.of(probabilities))
        return self.answer(threshold(probabilities, self.level), confidence)
