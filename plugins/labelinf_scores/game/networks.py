"""Networks as plain data: what is submitted where a board runs a model.

Aggarwal et al., AISTATS 2022, Section 5, call such a submission MutNet when its outputs are a chosen prediction vector.

Example:
    >>> twice = ModelLayer(weights=np.array([[2.0]]), bias=np.array([-3.0]), activation=ModelActivation.RELU)
    >>> MutNet(layers=(twice,))(np.array([[1.0], [3.0]])).tolist()
    [[0.0], [3.0]]
"""

from __future__ import annotations

import enum

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["ModelActivation", "ModelLayer", "MutNet"]


class ModelActivation(enum.Enum):
    """What a layer does to every entry."""

    RELU = "relu"
    SIGMOID = "sigmoid"

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply it."""
        return np.asarray(np.maximum(values, 0.0) if self is ModelActivation.RELU else expit(values))


@attrs.frozen(kw_only=True, eq=False)
class ModelLayer:
    """An affine map and what follows.

    Attributes:
        weights: Shape ``(n_in, n_out)``.
        bias: Shape ``(n_out,)``.
        activation: Applied to every entry.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    activation: ModelActivation

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply the layer to rows, shape ``(n, n_in)``."""
        return self.activation(values @ self.weights + self.bias)


@attrs.frozen(kw_only=True, eq=False)
class MutNet:
    """Layers one after the other.

    Attributes:
        layers: First to last.
        whole_batch: The network reads a batch as one vector, in its order, and returns one output for each row.
    """

    layers: tuple[ModelLayer, ...]
    whole_batch: bool = False

    def __call__(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs for a batch.

        Args:
            features: Shape ``(n, n_features)``.

        Returns:
            Shape ``(n, n_out)``; all outputs in a row of a network that reads whole batches.
        """
        values = np.asarray(features, dtype=float)
        values = values.reshape(1, -1) if self.whole_batch else values
        for layer in self.layers:
            values = layer(values)
        return values[0] if self.whole_batch else values
