"""LP-2ST: label privacy in two stages (Ghazi et al., NeurIPS 2021, Algorithm 4 with two stages).

Half of the labels go through randomised response and train a first model. Its tempered predictions are the prior with
which the labels of the other half are perturbed (RRWithPrior). The released model is trained on both halves.

Certificate: pure label-DP with epsilon. Each label is used once; the prior of the second half depends on labels of the
first only, which are private already.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.defences.temperature import tempered
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask
from labelinf_privacy.label_noise.prior_response import best_k, respond_within_top
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse
from labelinf_privacy.words import SeededWords

__all__ = ["Lp2st"]


@attrs.frozen(kw_only=True)
class Lp2st(OutputDefence):
    """Perturbs half of the labels blindly, and the other half with what that half taught.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
        temperature: Of the first model's predictions before they serve as a prior, above 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    temperature: float = attrs.field(default=2.0, validator=attrs.validators.gt(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train twice."""
        labels = task.hard_labels("lp-2st")
        first, second = np.array_split(rng.permutation(labels.size), 2)
        labels[first] = RandomisedResponse(epsilon=self.epsilon).sample(labels[first], task.n_classes, rng)
        teacher = train(task.with_labels(labels).take(first), rng)
        priors = tempered(teacher.model.log_probabilities(task.features[second]), self.temperature)
        k = best_k(priors, self.epsilon)
        labels[second] = respond_within_top(labels[second], priors, k, self.epsilon, SeededWords(rng))
        return train(task.with_labels(labels), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=self.epsilon),)
