"""What is trained in the model-output channel: a task, how it is trained, and what comes out.

A defence of this channel is a middleware around training: it is given the task and the next stage, changes the labels
or the recipe, trains once or many times, and returns what was trained. See :mod:`labelinf_outputs.game.output`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN
from labelinf_core.contracts.errors import InputError

__all__ = ["Predictor", "Recipe", "Train", "Trained", "TrainingTask", "one_hot"]

Floats = NDArray[np.float64]


class Predictor(Protocol):
    """A trained model."""

    def log_probabilities(self, features: Floats) -> Floats:
        """Return the logarithm of the probability of every class, shape ``(n, n_classes)``."""


@attrs.frozen(kw_only=True)
class Recipe:
    """How a model is trained; None leaves a choice to the victim.

    Attributes:
        epochs: Passes over the training records, at least 1.
        weight_decay: Factor of half the squared weights in the loss, at least 0.
        epsilon: What a model that states a privacy of its own is asked for.
        label_smoothing: Share of every target that is spread evenly over all classes, in [0, 1).
    """

    epochs: int | None = None
    weight_decay: float | None = None
    epsilon: float | None = None
    label_smoothing: float = 0.0


@attrs.frozen(kw_only=True, eq=False)
class TrainingTask:
    """Records and what to fit them to.

    Attributes:
        features: Shape ``(n_records, n_features)``.
        targets: Share of every class for every record, shape ``(n_records, n_classes)``; one-hot for hard labels.
        recipe: How to train.
        records: Which record every row is, shape ``(n_records,)``; the run counts by it how often a label is trained
            on. None when nobody knows, and then as often as can be.
    """

    features: Floats = attrs.field(repr=False)
    targets: Floats = attrs.field(repr=False)
    recipe: Recipe = Recipe()
    records: NDArray[np.intp] | None = attrs.field(default=None, repr=False)

    @property
    def n_records(self) -> int:
        """Records to train on."""
        return int(self.targets.shape[0])

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.targets.shape[1])

    def hard_labels(self, asked_by: str) -> NDArray[np.intp]:
        """Return the labels, shape ``(n_records,)``.

        Args:
            asked_by: Name of the defence that needs them, for the message.

        Raises:
            InputError: The targets are soft.
        """
        if not np.array_equal(self.targets, self.targets.astype(bool)):
            raise InputError(f"defence {asked_by!r} needs hard labels; put it before the defence that softens them.")
        return np.asarray(self.targets.argmax(axis=1), dtype=np.intp)

    def with_labels(self, labels: NDArray[np.intp]) -> TrainingTask:
        """Return the same records with other hard labels."""
        return attrs.evolve(self, targets=one_hot(labels, self.n_classes))

    def take(self, rows: NDArray[np.intp]) -> TrainingTask:
        """Return some of the records."""
        records = None if self.records is None else self.records[rows]
        return attrs.evolve(self, features=self.features[rows], targets=self.targets[rows], records=records)


@attrs.frozen(kw_only=True, eq=False)
class Trained:
    """A model and what it was fitted to.

    Attributes:
        model: The model.
        targets: What the model was fitted to, row by row of the task, shape ``(n_records, n_classes)``; NaN in the
            rows of records that it was not fitted to.
    """

    model: Predictor
    targets: Floats = attrs.field(repr=False)

    @property
    def training_labels(self) -> NDArray[np.intp]:
        """The class with the largest target, or ``ABSTAIN`` for a record that was not trained on."""
        seen = ~np.isnan(self.targets).any(axis=1)
        return np.where(seen, np.nan_to_num(self.targets).argmax(axis=1), ABSTAIN)


Train = Callable[[TrainingTask, np.random.Generator], Trained]  #: the next stage towards the victim


def one_hot(labels: NDArray[np.intp], n_classes: int) -> Floats:
    """Return labels as targets, shape ``(n_records, n_classes)``."""
    return np.eye(n_classes)[labels]
