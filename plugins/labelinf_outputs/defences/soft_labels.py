"""Soft labels from models that never saw the record: self-distillation (after Tang et al., USENIX Security 2022).

The records are dealt into folds. Each fold's labels are mixed with what a model trained on the other folds says; the
released model is trained on the mixture. At weight 1 a label reaches its own record's target through others only.

Certificate: none. Every label is used several times; so a mechanism certifies nothing *behind* this defence, only in
front of it.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.effects import Mixed
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask

__all__ = ["SoftLabels"]


@attrs.frozen(kw_only=True)
class SoftLabels(OutputDefence):
    """Trains on predictions of models that never saw the record.

    Attributes:
        weight: Share of the prediction in every target, in [0, 1].
        folds: At least 2.
    """

    weight: float = attrs.field(default=1.0, validator=[attrs.validators.ge(0), attrs.validators.le(1)])
    folds: int = attrs.field(default=5, validator=attrs.validators.ge(2))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train one model per fold and the released one."""
        said = np.full_like(task.targets, 1 / task.n_classes)  # of a record alone nobody else knows anything
        for fold in np.array_split(rng.permutation(task.n_records), self.folds):
            others = np.setdiff1d(np.arange(task.n_records), fold)
            if others.size:
                said[fold] = np.exp(train(task.take(others), rng).model.log_probabilities(task.features[fold]))
        mixed = (1 - self.weight) * task.targets + self.weight * said / said.sum(axis=1, keepdims=True)
        return train(attrs.evolve(task, targets=mixed), rng)

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Labels of other records are in every target."""
        return (Mixed(),)
