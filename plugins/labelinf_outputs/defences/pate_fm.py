"""PATE-FM: teachers that also learn from records without labels (Malek et al., NeurIPS 2021, section 3; FixMatch).

As :mod:`~labelinf_outputs.defences.pate`, but a teacher has all features and only its own labels: it is trained on
these, says what it thinks of slightly disturbed records (Sohn et al., NeurIPS 2020), and is trained again on its own
labels and, more strongly disturbed, on the records it was sure of. Published on images, where disturbing means cropping
and turning; here features are disturbed by a share of their standard deviation.

Certificate: that of PATE. A teacher is still a function of its own labels and of public features, so that a label
touches one teacher, hence one vote.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_outputs.defences.pate import Pate
from labelinf_outputs.game.training import Predictor, Train, TrainingTask, one_hot

__all__ = ["PateFm"]

_WEAK, _STRONG = 0.05, 0.2  # disturbances, in standard deviations


@attrs.frozen(kw_only=True)
class PateFm(Pate):
    """Releases a student of semi-supervised teachers; it never saw a label.

    Attributes:
        epsilon: Of (epsilon, delta)-label-DP, above 0.
        delta: In (0, 1).
        teachers: Into how many parts the records are dealt, at least 2.
        votes: Records voted on, at least 1; all of them when there are fewer.
        sure: From which probability on a teacher believes itself, in (0, 1].
    """

    sure: float = attrs.field(default=0.95, validator=[attrs.validators.gt(0), attrs.validators.le(1)])

    def teach(self, task: TrainingTask, rows: NDArray[np.intp], train: Train, rng: np.random.Generator) -> Predictor:
        """Train on the labels of ``rows``, then again on what that is sure of, too."""
        own = task.take(rows)
        first = train(own, rng).model
        logs = first.log_probabilities(_disturbed(task.features, _WEAK, rng))
        sure = np.flatnonzero(logs.max(axis=1) >= np.log(self.sure))
        if not sure.size:
            return first
        believed = one_hot(logs[sure].argmax(axis=1), task.n_classes)
        both = attrs.evolve(
            own,
            features=np.concatenate([own.features, _disturbed(task.features, _STRONG, rng)[sure]]),
            targets=np.concatenate([own.targets, believed]),
            records=None if task.records is None else np.concatenate([task.records[rows], task.records[sure]]),
        )
        return train(both, rng).model


def _disturbed(features: NDArray[np.float64], share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(features + share * features.std(axis=0) * rng.standard_normal(features.shape))
