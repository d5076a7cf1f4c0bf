"""Ways of training that memorise less: fewer epochs, weight decay, smoothed targets. Certificate: none."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Train, Trained, TrainingTask

__all__ = ["EarlyStopping", "TargetSmoothing", "WeightDecay"]


class _OnceEach(OutputDefence):
    """Trains once, on every label as it came."""

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        """Nothing that an adversary need be told, and no label is used twice."""
        return ()


@attrs.frozen(kw_only=True)
class EarlyStopping(_OnceEach):
    """Trains for fewer epochs. Stronger for its cost than weight decay or label smoothing, free at the best epoch.

    Attributes:
        epochs: Passes over the training records, at least 1.
    """

    epochs: int = attrs.field(default=30, validator=attrs.validators.ge(1))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train for so many epochs."""
        return train(attrs.evolve(task, recipe=attrs.evolve(task.recipe, epochs=self.epochs)), rng)


@attrs.frozen(kw_only=True)
class WeightDecay(_OnceEach):
    """Penalises large weights.

    Attributes:
        factor: Of half the squared weights in the loss, above 0.
    """

    factor: float = attrs.field(default=0.01, validator=attrs.validators.gt(0))

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train with the penalty."""
        return train(attrs.evolve(task, recipe=attrs.evolve(task.recipe, weight_decay=self.factor)), rng)


@attrs.frozen(kw_only=True)
class TargetSmoothing(_OnceEach):
    """Trains on smoothed labels (label smoothing). Hides from a threshold what a calibrated attack still sees.

    Attributes:
        smoothing: Share of every target that is spread evenly over all classes, in (0, 1).
    """

    smoothing: float = attrs.field(default=0.2, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        """Train on smoothed targets."""
        return train(attrs.evolve(task, recipe=attrs.evolve(task.recipe, label_smoothing=self.smoothing)), rng)
