"""A common mistake: randomised response that *resamples* a label instead of *replacing* it.

Each label is kept with probability ``p = e^eps / (e^eps + K - 1)`` and otherwise drawn uniformly from all K classes,
the true one included. Then ``P(y -> y) / P(y -> k) = 1 + K e^eps / (K - 1)``: the mechanism is private with

    eps_eff = ln(1 + K e^eps / (K - 1)),        ln(1 + 2 e^eps) for two classes,

and not with the nominal epsilon: 0.3 becomes 1.31. The published BLIA tables are consistent with this mistake. The
certificate stated here is the true one; the audit finds the difference to the nominal one from a single model.

Example:
    >>> round(effective_epsilon(0.3, n_classes=2), 5)
    1.30826
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask
from labelinf_privacy.randomised_response import keep_probability

__all__ = ["ResamplingRr", "effective_epsilon"]


def effective_epsilon(epsilon: float, n_classes: int) -> float:
    """Return the epsilon that resampling with a nominal ``epsilon`` really has."""
    return math.log1p(n_classes * math.exp(epsilon) / (n_classes - 1))


@attrs.frozen(kw_only=True)
class ResamplingRr(OutputDefence):
    """Keeps each label with probability ``e^eps / (e^eps + K - 1)``, else draws from all classes.

    Attributes:
        epsilon: Nominal, at least 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on resampled labels."""
        labels = task.hard_labels("resampling-rr")
        kept = rng.random(labels.size) < keep_probability(self.epsilon, task.n_classes)
        drawn = rng.integers(0, task.n_classes, labels.size)
        return train(task.with_labels(np.where(kept, labels, drawn)), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP, with the epsilon it really has."""
        return (Randomised(epsilon=effective_epsilon(self.epsilon, threat.n_classes)),)
