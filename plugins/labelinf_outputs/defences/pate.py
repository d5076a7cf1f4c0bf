"""PATE for labels: a student learns from noisy votes of teachers (Papernot et al., ICLR 2018; Malek et al., 2021).

The records are dealt out to teachers. Gaussian noise on a grid is added to the teachers' votes on some records, and a
student is trained on the winners. Features are public, so the records that are voted on may be training records.

Certificate: (epsilon, delta)-label-DP. A label touches one teacher, hence moves one vote from one class to another on
every record voted on: all votes together move by ``sqrt(2 q)``, and Gaussian noise of standard deviation s makes them
``sqrt(2 q) / s``-Gaussian-DP. s is the smallest that is enough (Balle and Wang, ICML 2018, Theorem 8). It takes many
teachers to be heard above it: on some hundred records little is learnt. Teachers see labels as they are, so a model of
somebody's own, of which the student may remember what its teachers saw, has no certificate.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics.profiles import GaussianProfile, gaussian_mu, normal_cdf
from labelinf_outputs.game.effects import Mixed, Randomised
from labelinf_outputs.game.output import OutputDefence, OutputThreat
from labelinf_outputs.game.training import Predictor, Train, Trained, TrainingTask, one_hot
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_privacy.words import SeededWords

__all__ = ["STEPS", "Pate", "vote_noise"]

_KNOWN = 2.0**-40  # relative error of a tail probability, at most
_LARGEST = 700.0  # epsilon up to which the tails are no subnormal numbers
STEPS = 1024  #: of the grid of the noise, to a vote


def vote_noise(epsilon: float, delta: float, votes: int) -> float:
    """Return the standard deviation of the noise on the votes on ``votes`` records: enough in spite of rounding.

    Guarantees:
        (``epsilon``, ``delta``)-label-DP, checked in 2000 bits (``tests/outputs/test_mechanisms.py``).
    """
    epsilon = min(epsilon, _LARGEST)
    mu, less = gaussian_mu(epsilon, delta), _KNOWN
    # The profile is the difference of two tails, which says little where it is much smaller than these.
    while GaussianProfile(mu).delta(epsilon) + _KNOWN * normal_cdf(mu / 2 - epsilon / mu) > delta:
        mu, less = mu * (1 - less), min(2 * less, 0.5)
    return math.sqrt(2 * votes) / mu


@attrs.frozen(kw_only=True)
class Pate(OutputDefence):
    """Releases a student that never saw a label.

    Attributes:
        epsilon: Of (epsilon, delta)-label-DP, above 0.
        delta: In (0, 1).
        teachers: Into how many parts the records are dealt, at least 2.
        votes: Records voted on, at least 1; all of them when there are fewer.
    """

    epsilon: float = attrs.field(default=4.0, validator=attrs.validators.gt(0))
    delta: float = attrs.field(default=1e-5, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    teachers: int = attrs.field(default=20, validator=attrs.validators.ge(2))
    votes: int = attrs.field(default=100, validator=attrs.validators.ge(1))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train teachers, let them vote, train the student.

        Raises:
            InputError: The labels are soft.
        """
        task.hard_labels("pate")
        asked = rng.permutation(task.n_records)[: self.votes]
        counts = np.zeros((asked.size, task.n_classes), dtype=np.int64)
        for rows in np.array_split(rng.permutation(task.n_records), min(self.teachers, task.n_records)):
            said = self.teach(task, rows, train, rng).log_probabilities(task.features[asked]).argmax(axis=1)
            counts += one_hot(said, task.n_classes).astype(np.int64)
        # Votes are whole numbers, so that they lie on the grid of the noise: nothing is rounded but the noise itself.
        noise = GridGaussian(scale=vote_noise(self.epsilon, self.delta, asked.size), step=1 / STEPS)
        noisy = STEPS * counts + noise.steps(SeededWords(rng), counts.size).reshape(counts.shape)
        winners = one_hot(noisy.argmax(axis=1), task.n_classes)
        student = train(attrs.evolve(task.take(asked), targets=winners), rng)
        targets = np.full_like(task.targets, np.nan)
        targets[asked] = winners
        return attrs.evolve(student, targets=targets)

    def teach(self, task: TrainingTask, rows: NDArray[np.intp], train: Train, rng: np.random.Generator) -> Predictor:
        """Return a teacher: whatever looks at no labels but those of ``rows``."""
        return train(task.take(rows), rng).model

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """(epsilon, delta)-label-DP, where a student remembers nothing of the teachers, which are trained on labels."""
        if not (isinstance(threat, OutputThreat) and threat.starts_anew):
            return (Mixed(),)
        return (Randomised(epsilon=self.epsilon, delta=self.delta),)
