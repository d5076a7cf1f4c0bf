"""Randomised response that spends nothing on classes a prior rules out (Ghazi et al., NeurIPS 2021, Algorithms 2, 3).

RRTop-k: a label among the k most probable classes is kept with probability ``e^eps / (e^eps + k - 1)``, else replaced
by another of the k; a label outside becomes one of the k, each as likely. RRWithPrior takes the k that keeps most
labels: the largest ``e^eps / (e^eps + k - 1)`` times the prior of the top k. The prior must not depend on the labels
that it protects. For k = 1 nothing of the label is left.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Weights
from labelinf_core.contracts.errors import InputError
from labelinf_privacy.label_noise.exact import ExactLabelNoise, enumerated_epsilon, even, responses
from labelinf_privacy.words import Words

__all__ = ["PriorResponse", "best_k", "respond_within_top"]

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


@attrs.frozen(kw_only=True)
class PriorResponse(ExactLabelNoise):
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

    def label_epsilon(self, n_classes: int) -> float:
        """``epsilon``; ``K**2 2**-63`` at most where that is 0 and the words do not divide evenly."""
        return max(self.epsilon, enumerated_epsilon(self.weights(n_classes)))

    def weights(self, n_classes: int) -> Weights:
        """Rows of the classes that are answered with, and one even row for all others.

        Raises:
            InputError: The prior is not one of K classes.
        """
        shares = np.array(self.prior or (1 / n_classes,) * n_classes)
        if shares.size != n_classes:
            raise InputError(f"prior={list(self.prior)} must be {n_classes} shares, one for every class.")
        k = min(self.top, n_classes) or int(best_k(shares[None], self.epsilon)[0])
        order = np.argsort(-shares, kind="stable").tolist()
        keep, lost = responses(self.epsilon, k)
        rows = []
        for label in range(n_classes):
            rank = order.index(label)
            answers = [keep if place == rank else lost for place in range(k)] if rank < k else even(k)
            rows.append(tuple(answers[order.index(j)] if order.index(j) < k else 0 for j in range(n_classes)))
        return tuple(rows)


def respond_within_top(labels: Labels, priors: Floats, k: Labels, epsilon: float, source: Words) -> Labels:
    """Return labels perturbed by RRTop-k with a prior of its own for every record, shape ``(n,)``.

    Args:
        labels: The labels.
        priors: As in :func:`best_k`.
        k: How many classes are answered with, per record.
        epsilon: Of label-DP.
        source: Of the words.

    Guarantees:
        Every transition probability is at most ``e^eps`` times any other (``tests/outputs/test_mechanisms.py``).
    """
    order = np.argsort(-priors, axis=1, kind="stable")
    rank = np.argmax(order == labels[:, None], axis=1)
    answer = np.empty(labels.size, dtype=np.intp)
    for size in np.unique(k).tolist():
        # Rank k of k + 1 classes stands for every label outside: the last row of a response with a prior.
        ranks = np.minimum(rank[k == size], size)
        law = PriorResponse(epsilon=epsilon, prior=(1.0,) * size + (0.0,), top=size)
        answer[k == size] = law.answer(ranks, size + 1, source)
    return np.asarray(order[np.arange(labels.size), answer], dtype=np.intp)
