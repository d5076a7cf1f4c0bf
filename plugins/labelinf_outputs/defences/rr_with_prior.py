"""Randomised response of training labels that spends nothing on classes a public prior rules out.

(Ghazi et al., NeurIPS 2021, Algorithms 2 and 3; :class:`~labelinf_privacy.label_noise.prior_response.PriorResponse`.)

Certificate: pure label-DP with epsilon.
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
from labelinf_privacy.label_noise.prior_response import PriorResponse

__all__ = ["RrWithPrior"]


@attrs.frozen(kw_only=True)
class RrWithPrior(OutputDefence):
    """Answers with the classes that are the most frequent ones by public knowledge.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
        prior: Share of every class as the public knows it, length K; uniform when empty, which leaves plain
            randomised response.
        top: k of RRTop-k; 0 chooses it as RRWithPrior does.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    prior: tuple[float, ...] = ()
    top: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on perturbed labels.

        Raises:
            InputError: The prior is not one of K classes.
        """
        law = PriorResponse(epsilon=self.epsilon, prior=self.prior, top=self.top)
        labels = law.sample(task.hard_labels("rr-with-prior"), task.n_classes, rng)
        return train(task.with_labels(labels), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=no_less(self.epsilon, threat.n_classes)),)
