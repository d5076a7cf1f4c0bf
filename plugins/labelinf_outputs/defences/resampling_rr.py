"""A common mistake, trained with: randomised response that *resamples* a label instead of *replacing* it.

The published BLIA tables are consistent with this mistake. The certificate stated here is the true one
(:mod:`labelinf_privacy.label_noise.resampled_response`); the audit finds the difference to the nominal one from a
single model.
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
from labelinf_privacy.label_noise.resampled_response import ResampledResponse

__all__ = ["ResamplingRr"]


@attrs.frozen(kw_only=True)
class ResamplingRr(OutputDefence):
    """Keeps each label with probability ``e^eps / (e^eps + K - 1)``, else draws from all classes.

    Attributes:
        epsilon: Nominal, at least 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on resampled labels."""
        law = ResampledResponse(epsilon=self.epsilon)
        return train(task.with_labels(law.sample(task.hard_labels("resampling-rr"), task.n_classes, rng)), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP, with the epsilon it really has."""
        return (Randomised(epsilon=ResampledResponse(epsilon=self.epsilon).label_epsilon(threat.n_classes)),)
