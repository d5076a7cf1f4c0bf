"""Label noise on every training label, canaries included: whatever is done with the answers is as private as they are.

Three laws: randomised response (Warner, JASA 1965; K-ary: Kairouz et al., ICML 2016); the same spending nothing on
classes that a public prior rules out (Ghazi et al., NeurIPS 2021, Algorithms 2 and 3); and a common mistake, which
*resamples* a label instead of *replacing* it. The published BLIA tables are consistent with this mistake; its
certificate is the true one, and the audit finds the difference to the nominal one from a single model.

Certificate: pure label-DP, for whatever is done with the model. A model that memorises shows its training labels all
the same: success against those stays at 1 and only the planted ones are protected, for randomised response exactly to
the ceiling ``e^eps / (e^eps + K - 1)``. An attack at the ceiling is the mechanism working as specified.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask
from labelinf_privacy.label_noise.exact import ExactLabelNoise, no_less
from labelinf_privacy.label_noise.prior_response import PriorResponse
from labelinf_privacy.label_noise.randomised_response import RandomisedResponse
from labelinf_privacy.label_noise.resampled_response import ResampledResponse

__all__ = ["LabelRr", "ResamplingRr", "RrWithPrior"]


@attrs.frozen(kw_only=True)
class _Answers(OutputDefence):
    """Trains on one answer for every label."""

    called: ClassVar[str]

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    @property
    @abc.abstractmethod
    def law(self) -> ExactLabelNoise:
        """Return what answers are drawn by."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on perturbed labels.

        Raises:
            InputError: The labels are soft, or the law is not one of K classes.
        """
        return train(task.with_labels(self.law.sample(task.hard_labels(self.called), task.n_classes, rng)), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=no_less(self.epsilon, threat.n_classes)),)


@attrs.frozen(kw_only=True)
class LabelRr(_Answers):
    """Keeps each label with probability ``e^eps / (e^eps + K - 1)``, else replaces it by another class.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
    """

    called: ClassVar[str] = "label-rr"

    @property
    def law(self) -> RandomisedResponse:
        """Return randomised response."""
        return RandomisedResponse(epsilon=self.epsilon)


@attrs.frozen(kw_only=True)
class RrWithPrior(_Answers):
    """Answers with the classes that are the most frequent ones by public knowledge.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
        prior: Share of every class as the public knows it, length K; uniform when empty, which leaves plain
            randomised response.
        top: k of RRTop-k; 0 chooses it as RRWithPrior does.
    """

    called: ClassVar[str] = "rr-with-prior"

    prior: tuple[float, ...] = ()
    top: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    @property
    def law(self) -> PriorResponse:
        """Return randomised response among the likeliest classes."""
        return PriorResponse(epsilon=self.epsilon, prior=self.prior, top=self.top)


@attrs.frozen(kw_only=True)
class ResamplingRr(_Answers):
    """Keeps each label with probability ``e^eps / (e^eps + K - 1)``, else draws from all classes.

    Attributes:
        epsilon: Nominal, at least 0.
    """

    called: ClassVar[str] = "resampling-rr"

    @property
    def law(self) -> ResampledResponse:
        """Return the mistake."""
        return ResampledResponse(epsilon=self.epsilon)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP, with the epsilon it really has."""
        return (Randomised(epsilon=self.law.label_epsilon(threat.n_classes)),)
