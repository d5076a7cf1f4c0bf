"""Randomised response on every training label, canaries included (Warner, JASA 1965; K-ary: Kairouz et al., ICML 2016).

Certificate: pure label-DP with epsilon, for whatever is done with the model. A model that memorises shows its training
labels all the same: success against those stays at 1 and only the planted ones are protected, exactly to the ceiling
``e^eps / (e^eps + K - 1)``. An attack at the ceiling is the mechanism working as specified.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask
from labelinf_privacy.label_noise.exact import no_less
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse

__all__ = ["LabelRr"]


@attrs.frozen(kw_only=True)
class LabelRr(OutputDefence):
    """Keeps each label with probability ``e^eps / (e^eps + K - 1)``, else replaces it by another class.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on perturbed labels."""
        law = RandomisedResponse(epsilon=self.epsilon)
        labels = law.sample(task.hard_labels("label-rr"), task.n_classes, rng)
        return train(task.with_labels(labels), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=no_less(self.epsilon, threat.n_classes)),)
