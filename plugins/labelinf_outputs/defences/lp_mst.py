"""LP-MST: label privacy in several stages (Ghazi et al., NeurIPS 2021, Algorithm 4).

The records are dealt out to T stages. The labels of the first go through randomised response and train a model. Its
tempered predictions are the prior with which the labels of the second are perturbed (RRWithPrior), and so on: each
stage trains on all answers given so far. The last model is released. T = 2 is LP-2ST.

Certificate: pure label-DP with epsilon. Each label is used once; the prior of a stage depends on labels of earlier ones
only, which are private already.
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
from labelinf_privacy.label_noise.exact import no_less
from labelinf_privacy.label_noise.prior_response import best_k, respond_within_top
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse
from labelinf_privacy.words import SeededWords

__all__ = ["LpMst"]


@attrs.frozen(kw_only=True)
class LpMst(OutputDefence):
    """Perturbs a part of the labels blindly, and every further part with what the parts before taught.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
        temperature: Of the predictions before they serve as a prior, above 0.
        stages: T, at least 2; no more than there are records.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    temperature: float = attrs.field(default=2.0, validator=attrs.validators.gt(0))
    stages: int = attrs.field(default=3, validator=attrs.validators.ge(2))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train once for every stage.

        Raises:
            InputError: The labels are soft.
        """
        labels = task.hard_labels("lp-mst")
        first, *later = np.array_split(rng.permutation(labels.size), min(self.stages, labels.size))
        labels[first] = RandomisedResponse(epsilon=self.epsilon).sample(labels[first], task.n_classes, rng)
        answered = first
        for part in later:
            teacher = train(task.with_labels(labels).take(answered), rng)
            priors = tempered(teacher.model.log_probabilities(task.features[part]), self.temperature)
            k = best_k(priors, self.epsilon)
            labels[part] = respond_within_top(labels[part], priors, k, self.epsilon, SeededWords(rng))
            answered = np.concatenate([answered, part])
        return train(task.with_labels(labels), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=no_less(self.epsilon, threat.n_classes)),)
