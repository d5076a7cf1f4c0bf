"""ALIBI: noisy one-hot labels and their posterior as soft labels (Malek et al., NeurIPS 2021, section 4), on a grid.

Every entry of every one-hot label gets Laplace noise; another label can move the entries by 2 in all. The model is
trained on the posterior over the classes, proportional to ``pi_k exp(-eps |o - e_k|_1 / 2)``. The prior pi is uniform,
or learned from all noisy labels: post-processing either way.

In floating point the published mechanism has no certificate: the last bits of ``1 + noise`` and of ``0 + noise`` come
from different sets, and the posterior shows them (an echoing model proves more than twice the epsilon). So everything
happens in integers, in steps of 1/16: the noise is the discrete Laplace distribution, drawn exactly, probabilities
proportional to ``exp(-eps |z| / 32)`` (:class:`~labelinf_privacy.noise.geometric.Geometric`). The posterior is a
function of these integers.

Certificate: pure label-DP with epsilon. Of two labels the probabilities of an observation differ by at most
``exp(eps 32 / 32)``, and the posterior is post-processing.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask, one_hot
from labelinf_privacy.noise.geometric import Geometric
from labelinf_privacy.words import SeededWords

__all__ = ["STEPS", "Alibi", "Prior", "learned_prior", "noise_of", "observe", "posterior"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEPS = 16  #: grid steps between a label's 0 and its 1

_LEAST = 1e-12  # share of a class that no noisy label speaks for
_ROUNDS = 50


def noise_of(epsilon: float) -> Geometric:
    """Return the noise of every entry: one label moves the entries by 2 in all, and the scale is not rounded down."""
    return Geometric(scale=math.nextafter(2 / epsilon, math.inf), step=1 / STEPS)


def observe(labels: NDArray[np.intp], epsilon: float, n_classes: int, rng: np.random.Generator) -> Integers:
    """Return noisy one-hot labels in steps of the grid, shape ``(n, K)``."""
    noise = noise_of(epsilon).steps(SeededWords(rng), labels.size * n_classes)
    return np.asarray(STEPS * one_hot(labels, n_classes).astype(np.int64) + noise.reshape(-1, n_classes))


def posterior(observed: Integers, epsilon: float, prior: Floats | None = None) -> Floats:
    """Return the probability of every class given noisy one-hot labels in steps of the grid, shape ``(n, K)``.

    Args:
        observed: Noisy labels.
        epsilon: Of the noise.
        prior: Shares of the classes, shape ``(K,)``; uniform where it is None.
    """
    # |o - e_k|_1 differs between classes only in |o_k - 1| - |o_k|.
    logits = -epsilon / (2 * STEPS) * (np.abs(observed - STEPS) - np.abs(observed))
    if prior is not None:
        logits = logits + np.log(np.maximum(prior, _LEAST))
    return np.asarray(np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)))


def learned_prior(observed: Integers, epsilon: float) -> Floats:
    """Return the likeliest shares of the classes given noisy labels, shape ``(K,)``, by expectation-maximisation."""
    shares = np.full(observed.shape[1], 1 / observed.shape[1])
    for _ in range(_ROUNDS):
        shares = posterior(observed, epsilon, shares).mean(axis=0)
    return shares


class Prior(enum.Enum):
    """What the posterior is taken against."""

    UNIFORM = "uniform"
    LEARNED = "learned"
    """The shares of the classes that make the noisy labels likeliest: a function of these, so it costs nothing."""


@attrs.frozen(kw_only=True)
class Alibi(OutputDefence):
    """Trains on posteriors of noisy labels.

    Attributes:
        epsilon: Of pure label-DP, above 0.
        prior: ``uniform``, or ``learned`` from the noisy labels.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    prior: Prior = Prior.UNIFORM

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on soft labels."""
        observed = observe(task.hard_labels("alibi"), self.epsilon, task.n_classes, rng)
        prior = learned_prior(observed, self.epsilon) if self.prior is Prior.LEARNED else None
        return train(attrs.evolve(task, targets=posterior(observed, self.epsilon, prior)), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Pure label-DP."""
        return (Randomised(epsilon=self.epsilon),)
