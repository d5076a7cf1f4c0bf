"""A board where a model is submitted, not predictions: the curator runs it on its records and scores what comes out.

What the adversary can do with that is decided by two facts. Does the model see all records at once, in an order that
never changes? Then a network can return a chosen number for every *place*, and need not know the records. Or one record
at a time? Then it can return a chosen number for every record whose features are known beforehand, and for no other:
behind features that nobody has seen, no output can be meant for a record, which is a secret order as far as labels go
(labelinf theory, MutNet).

Networks are plain data, so that a model can neither keep what it has seen nor call anything.

Example:
    >>> board = ModelBoard(run=Run.ROWS, n_features=1, features=np.array([[1.0], [3.0]]))
    >>> twice = ModelLayer(weights=np.array([[2.0]]), bias=np.array([-3.0]), activation=ModelActivation.RELU)
    >>> board.outputs(MutNet(layers=(twice,))).tolist()
    [0.0, 3.0]
"""

from __future__ import annotations

import enum
import functools

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError, QueryRefusedError
from labelinf_scores.detector import Neighbours
from labelinf_scores.game.networks import ModelActivation, ModelLayer, MutNet

__all__ = ["ModelBoard", "Run"]

_CHUNK = 1 << 22  # entries of a layer that are computed at once


class Run(enum.Enum):
    """How a board runs the models that are submitted."""

    BATCH = "batch"  #: on all records at once, in an order that never changes; the features are secret
    ROWS = "rows"  #: on one record at a time; the features are public
    HIDDEN_ROWS = "hidden-rows"  #: on one record at a time; the features are secret


@attrs.frozen(kw_only=True, eq=False)
class ModelBoard:
    """How models are run, and on what.

    Attributes:
        run: How.
        n_features: What a model sees of one record, in numbers.
        features: What that is, shape ``(n_records, n_features)``; None where the adversary is not shown it.
    """

    run: Run
    n_features: int
    features: NDArray[np.float64] | None = attrs.field(repr=False)

    @classmethod
    def of(cls, run: Run | None, data: LabelSet) -> ModelBoard | None:
        """Return the board for ``data``; None where predictions are submitted.

        Every column of the features is scaled to mean 0 and standard deviation 1. Records without features have their
        number for one: a model may read the column of ids.

        Raises:
            InputError: Secret features are asked for where there are none.
        """
        if run is None:
            return None
        if run is Run.HIDDEN_ROWS and data.features is None:
            raise InputError("model=hidden-rows keeps features secret, and there are none; name them with --features.")
        numbers = np.arange(data.n_records, dtype=np.float64)[:, None]
        features = numbers if data.features is None else data.features
        spread = features.std(axis=0)
        scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return cls(run=run, n_features=scaled.shape[1], features=scaled)

    @functools.cached_property
    def neighbours(self) -> Neighbours | None:
        """Whose features are nearest to whose; None where they are not shown."""
        return None if self.features is None else Neighbours.of(self.features)

    @property
    def public(self) -> ModelBoard:
        """The board as participants know it."""
        return self if self.run is Run.ROWS else attrs.evolve(self, features=None)

    def outputs(self, model: object) -> NDArray[np.float64]:
        """Run a model and return what it predicts, shape ``(n_records,)``, or ``(n_records, K)`` of K outputs.

        Raises:
            QueryRefusedError: It is no network, does not fit the records, or wants to see more than one at a time.
        """
        network, features = _plain(model), self.features
        if features is None:
            raise QueryRefusedError("this board shows nobody what models are run on.")
        if network.whole_batch and self.run is not Run.BATCH:
            raise QueryRefusedError("the model reads all records together, and this board runs it on one at a time.")
        try:
            parts = [features] if network.whole_batch else _chunks(features, network)
            outputs = np.concatenate([network(part).reshape(-1) for part in parts])
        except ValueError as error:
            raise QueryRefusedError(f"the model does not take rows of {features.shape[1]} features.") from error
        if outputs.size % len(features):
            raise QueryRefusedError(f"the model returned {outputs.size} numbers for {len(features)} records.")
        return outputs if outputs.size == len(features) else outputs.reshape(len(features), -1)


def _plain(model: object) -> MutNet:
    """Return a copy of a network that is nothing but numbers.

    Raises:
        QueryRefusedError: It is something else.
    """
    if type(model) is not MutNet or any(type(layer) is not ModelLayer for layer in model.layers):
        raise QueryRefusedError(f"a model must be a MutNet of Layers, got {type(model).__name__}.")
    layers = tuple(
        ModelLayer(
            weights=np.array(layer.weights, dtype=np.float64, subok=False),
            bias=np.array(layer.bias, dtype=np.float64, subok=False),
            activation=ModelActivation(layer.activation),
        )
        for layer in model.layers
    )
    return MutNet(layers=layers, whole_batch=bool(model.whole_batch))


def _chunks(features: NDArray[np.float64], network: MutNet) -> list[NDArray[np.float64]]:
    """Cut the records so that no layer's outputs take more memory than a few dozen megabytes."""
    widest = max((layer.bias.size for layer in network.layers), default=1)
    step = max(1, _CHUNK // max(widest, 1))
    return [features[start : start + step] for start in range(0, len(features), step)]
