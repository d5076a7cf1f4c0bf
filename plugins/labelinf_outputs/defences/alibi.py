"""ALIBI: noisy one-hot labels and their posterior as soft labels (Malek et al., NeurIPS 2021, section 4).

Every one-hot label gets Laplace noise of scale ``2/eps`` on all K entries, which another label can move by 2 in all.
The model is trained on the posterior over the classes, proportional to ``exp(-eps |o - e_k|_1 / 2)`` under a uniform
prior.

Certificate: pure label-DP with epsilon; the posterior is post-processing.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_outputs.defences.certified import with_label_dp
from labelinf_outputs.game.output import OutputDefence, OutputThreat
from labelinf_outputs.game.training import Train, Trained, TrainingTask, one_hot

__all__ = ["Alibi", "posterior"]

Floats = NDArray[np.float64]


def posterior(observed: Floats, epsilon: float) -> Floats:
    """Return the probability of every class given noisy one-hot labels, shape ``(n, K)``."""
    # |o - e_k|_1 differs between classes only in |o_k - 1| - |o_k|.
    logits = -epsilon / 2 * (np.abs(observed - 1) - np.abs(observed))
    return np.asarray(np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)))


@attrs.frozen(kw_only=True)
class Alibi(OutputDefence):
    """Trains on posteriors of noisy labels.

    Attributes:
        epsilon: Of pure label-DP, above 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on soft labels."""
        labels = one_hot(task.hard_labels("alibi"), task.n_classes)
        observed = labels + rng.laplace(0.0, 2 / self.epsilon, labels.shape)
        return train(attrs.evolve(task, targets=posterior(observed, self.epsilon)), rng)

    def effect(self, threat: OutputThreat) -> OutputThreat:
        """Pure label-DP."""
        return with_label_dp(threat, self.epsilon)
