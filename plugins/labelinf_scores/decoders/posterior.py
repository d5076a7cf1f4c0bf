"""From scored labels to guessed ones, when the curator perturbs labels before scoring.

Under randomised response an attack recovers what was *scored*. The best guess of what is *true* also weighs how
frequent every class is: when labels are mostly replaced, the majority class beats the label that was read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.seen_through import kept_when_read

__all__ = ["certainly", "likeliest_labels", "scored_prior"]


def likeliest_labels(scored: NDArray[np.float64], threat: ScoreThreat) -> NDArray[np.intp]:
    """Return the likeliest true label of every record.

    Args:
        scored: Probability of every label to be the one that the score was computed on, shape ``(n, K)``.
        threat: Gives the class shares, and the probability that a scored label is the true one (the other labels
            being equally likely).
    """
    joint = np.array(threat.prior)[:, None] * _perturbation(threat)
    share = joint.sum(axis=0)
    true_given_scored = np.divide(joint, share, out=np.zeros_like(joint), where=share > 0)
    return np.asarray((scored @ true_given_scored.T).argmax(axis=1))


def certainly(labels: NDArray[np.intp], threat: ScoreThreat) -> NDArray[np.float64]:
    """Return probabilities for labels that were read off with certainty, shape ``(n, K)``.

    Args:
        labels: Shape ``(n,)``; -1 where nothing is known beyond the class shares.
        threat: Gives the class shares.
    """
    known = np.eye(threat.n_classes)[labels]
    return np.where((labels < 0)[:, None], scored_prior(threat), known)


def scored_prior(threat: ScoreThreat) -> NDArray[np.float64]:
    """Return the share of every class among the labels that are scored, shape ``(K,)``."""
    return np.asarray(np.array(threat.prior) @ _perturbation(threat))


def _perturbation(threat: ScoreThreat) -> NDArray[np.float64]:
    """Return the probability of every scored label (columns) given every true one (rows)."""
    keep = kept_when_read(threat)
    channel = np.full((threat.n_classes,) * 2, (1 - keep) / (threat.n_classes - 1))
    np.fill_diagonal(channel, keep)
    return channel
