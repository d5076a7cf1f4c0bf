"""What computes a client's gradient: our own perceptron in NumPy, or somebody's real PyTorch module."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Activation", "Layer", "Network", "Perceptron", "softmax"]


@attrs.frozen(kw_only=True, eq=False)
class Layer:
    """A linear layer.

    Attributes:
        weights: Shape ``(n_out, n_in)``.
        bias: Shape ``(n_out,)``, or None without.
    """

    weights: NDArray[Any]
    bias: NDArray[Any] | None = None

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the outputs, shape ``(n, n_out)``, for inputs of shape ``(n, n_in)``."""
        z = x @ self.weights.T
        return np.asarray(z if self.bias is None else z + self.bias)


class Network(Protocol):
    """A classifier under softmax cross-entropy whose last layer is linear. All of it is public."""

    @property
    def classifier(self) -> Layer:
        """The last layer."""

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """Names of the last layer's parameters: its weights, then its bias if it has one."""

    @property
    def nonnegative(self) -> bool:
        """Whether the last layer's inputs can never be negative."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of every parameter, in order."""

    @property
    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Value of every parameter, in the same order."""

    def features(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the last layer's inputs, shape ``(n, I)``."""

    def gradients(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return every sample's own gradient of the cross-entropy.

        Args:
            x: Inputs, shape ``(n, n_inputs)``.
            labels: Soft labels, shape ``(n, C)``.

        Returns:
            For every parameter, shape ``(n, *shape)``.
        """

    def mean_gradient(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the batch's mean gradient, without the samples' own.

        Args:
            x: Inputs, shape ``(n, n_inputs)``.
            labels: Soft labels, shape ``(n, C)``.

        Returns:
            For every parameter in order, of its shape.
        """

    def moved(self, step: Mapping[str, NDArray[Any]]) -> Network:
        """Return the network with ``step`` added to its parameters."""


class Activation(enum.Enum):
    """What follows every hidden layer."""

    RELU = "relu"
    SIGMOID = "sigmoid"
    TANH = "tanh"

    def __call__(self, z: NDArray[Any]) -> NDArray[Any]:
        """Apply it elementwise."""
        return _FUNCTIONS[self](z)

    def slope(self, output: NDArray[Any]) -> NDArray[Any]:
        """Return its derivative, given its own output."""
        return _SLOPES[self](output)


_FUNCTIONS: dict[Activation, Callable[[NDArray[Any]], NDArray[Any]]] = {
    Activation.RELU: lambda z: np.maximum(z, 0),
    Activation.SIGMOID: lambda z: 0.5 + 0.5 * np.tanh(0.5 * z),
    Activation.TANH: np.tanh,
}
_SLOPES: dict[Activation, Callable[[NDArray[Any]], NDArray[Any]]] = {
    Activation.RELU: lambda a: (a > 0).astype(a.dtype),
    Activation.SIGMOID: lambda a: a * (1 - a),
    Activation.TANH: lambda a: 1 - a * a,
}


@attrs.frozen(kw_only=True, eq=False)
class Perceptron:
    """A fully connected network in NumPy. It computes in the type of its weights, as frameworks do.

    Attributes:
        layers: From the input to the logits.
        activation: After every layer but the last.
    """

    layers: tuple[Layer, ...]
    activation: Activation = Activation.RELU

    @classmethod
    def random(
        cls,
        sizes: tuple[int, ...],
        rng: np.random.Generator,
        *,
        bias: bool = True,
        activation: Activation = Activation.RELU,
        dtype: str = "float64",
    ) -> Perceptron:
        """Draw every weight uniformly within one over the square root of its fan-in, as PyTorch does.

        Args:
            sizes: Widths from the input to the number of classes.
            rng: Source of the weights.
            bias: Whether layers have biases.
            activation: After every hidden layer.
            dtype: ``"float32"`` or ``"float64"``.
        """
        layers = []
        for n_in, n_out in itertools.pairwise(sizes):
            width = n_in**-0.5
            weights = rng.uniform(-width, width, (n_out, n_in)).astype(dtype)
            layers.append(
                Layer(weights=weights, bias=rng.uniform(-width, width, n_out).astype(dtype) if bias else None)
            )
        return cls(layers=tuple(layers), activation=activation)

    @property
    def classifier(self) -> Layer:
        """The last layer."""
        return self.layers[-1]

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """Names of the last layer's parameters."""
        last = len(self.layers) - 1
        weights = f"layers.{last}.weight"
        return (weights,) if self.classifier.bias is None else (weights, f"layers.{last}.bias")

    @property
    def nonnegative(self) -> bool:
        """Whether hidden outputs can never be negative; a network without hidden layers makes no promise."""
        return len(self.layers) > 1 and self.activation is not Activation.TANH

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of every parameter."""
        return {name: value.shape for name, value in self.parameters.items()}

    @property
    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """Value of every parameter."""
        found = {}
        for number, layer in enumerate(self.layers):
            found[f"layers.{number}.weight"] = layer.weights
            if layer.bias is not None:
                found[f"layers.{number}.bias"] = layer.bias
        return found

    def astype(self, dtype: str) -> Perceptron:
        """Return the network with its parameters rounded to ``dtype``."""
        return self._with({name: value.astype(dtype) for name, value in self.parameters.items()})

    def inputs(self, x: NDArray[Any]) -> list[NDArray[Any]]:
        """Return what enters every layer, first the inputs, last the features."""
        entering = [np.asarray(x, dtype=self.classifier.weights.dtype)]
        for layer in self.layers[:-1]:
            entering.append(self.activation(layer(entering[-1])))
        return entering

    def features(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the last layer's inputs, shape ``(n, I)``."""
        return self.inputs(x)[-1]

    def logits(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the logits, shape ``(n, C)``."""
        return self.classifier(self.features(x))

    def gradients(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return every sample's own gradient of the cross-entropy; see :class:`Network`."""
        found = {}
        for name, entering, error in self._backward(x, labels):
            found[f"layers.{name}.weight"] = error[:, :, None] * entering[:, None, :]
            if self.layers[name].bias is not None:
                found[f"layers.{name}.bias"] = error
        return {name: found[name] for name in self.parameters}

    def mean_gradient(self, x: NDArray[Any], labels: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
        """Return the batch's mean gradient; see :class:`Network`."""
        found = {}
        for name, entering, error in self._backward(x, labels):
            found[f"layers.{name}.weight"] = error.T @ entering / len(entering)
            if self.layers[name].bias is not None:
                found[f"layers.{name}.bias"] = error.mean(axis=0)
        return {name: found[name] for name in self.parameters}

    def moved(self, step: Mapping[str, NDArray[Any]]) -> Perceptron:
        """Return the network with ``step`` added to its parameters; missing ones stay."""
        return self._with({name: value + step.get(name, 0) for name, value in self.parameters.items()})

    def _with(self, parameters: Mapping[str, NDArray[Any]]) -> Perceptron:
        layers = tuple(
            Layer(weights=parameters[f"layers.{number}.weight"], bias=parameters.get(f"layers.{number}.bias"))
            for number in range(len(self.layers))
        )
        return attrs.evolve(self, layers=layers)

    def _backward(self, x: NDArray[Any], labels: NDArray[Any]) -> list[tuple[int, NDArray[Any], NDArray[Any]]]:
        """Return (layer, what entered it, dL/dz) from the last layer to the first."""
        entering = self.inputs(x)
        probabilities = softmax(self.classifier(entering[-1]))
        error = probabilities - np.asarray(labels, dtype=probabilities.dtype)
        found = []
        for number in range(len(self.layers) - 1, -1, -1):
            found.append((number, entering[number], error))
            error = (error @ self.layers[number].weights) * self.activation.slope(entering[number])
        return found


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return the probabilities of logits, along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
