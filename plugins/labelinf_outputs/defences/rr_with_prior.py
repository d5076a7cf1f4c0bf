"""Randomised response that spends nothing on classes a prior rules out (Ghazi et al., NeurIPS 2021, Algorithms 2, 3).

RRTop-k: a label among the k most probable classes of its record is kept with probability ``e^eps / (e^eps + k - 1)``,
else replaced by another of the k; a label outside becomes one of the k, each as likely. RRWithPrior takes the k that
keeps most labels: the largest ``e^eps / (e^eps + k - 1)`` times the prior of the top k. The prior must not depend on
the labels that it protects.

Certificate: pure label-DP with epsilon. For k = 1 nothing of the label is left.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask

__all__ = ["RrWithPrior", "best_k", "perturb_within_top"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]


def best_k(priors: Floats, epsilon: float) -> Labels:
    """Return the k of RRWithPrior for every record, shape ``(n,)``.

    Args:
        priors: Probability of every class for every record, shape ``(n, K)``.
        epsilon: Of label-DP.
    """
    mass = np.cumsum(-np.sort(-priors, axis=1), axis=1)
    kept = 1 / (1 + np.arange(priors.shape[1]) * np.exp(-epsilon))
    return np.asarray((mass * kept).argmax(axis=1) + 1, dtype=np.intp)


def perturb_within_top(labels: Labels, priors: Floats, k: Labels, epsilon: float, rng: np.random.Generator) -> Labels:
    """Return labels perturbed by RRTop-k, shape ``(n,)``.

    Args:
        labels: The labels.
        priors: As in :func:`best_k`.
        k: How many classes are answered with, per record.
        epsilon: Of label-DP.
        rng: The curator's randomness.

    Guarantees:
        Every transition probability is at most ``e^eps`` times any other (``tests/outputs/test_mechanisms.py``).
    """
    order = np.argsort(-priors, axis=1, kind="stable")
    rank = np.argmax(order == labels[:, None], axis=1)
    kept = rng.random(labels.size) < 1 / (1 + (k - 1) * np.exp(-epsilon))
    other = (rank + rng.integers(1, np.maximum(k, 2))) % k
    anywhere = rng.integers(0, k)
    answer = np.where(rank < k, np.where(kept, rank, other), anywhere)
    return np.asarray(order[np.arange(labels.size), answer], dtype=np.intp)


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
        labels = task.hard_labels("rr-with-prior")
        shares = np.array(self.prior or (1 / task.n_classes,) * task.n_classes)
        if shares.size != task.n_classes:
            raise InputError(f"prior={list(self.prior)} must be {task.n_classes} shares, one for every class.")
        priors = np.broadcast_to(shares, task.targets.shape)
        chosen = np.full(labels.size, min(self.top, task.n_classes), dtype=np.intp)
        k = chosen if self.top else best_k(priors, self.epsilon)
        return train(task.with_labels(perturb_within_top(labels, priors, k, self.epsilon, rng)), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=self.epsilon),)
