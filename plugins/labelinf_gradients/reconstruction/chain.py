r"""From the last layer's label back to the input of a fully connected network, layer by layer, in closed form.

The recovered label gives ``delta_L = p - y``; then ``delta_{l-1} = (W_l' delta_l) * slope(x_{l-1})`` and the input of a
layer is the least-squares quotient ``x = G' delta / |delta|^2`` of its gradient ``G = delta x'`` (Wang et al., ICLR
2024, eq. 6 and 7, with the mask of the activation, and all rows instead of one entry).

Under noise, errors of ``delta`` multiply through the chain. Every layer's gradient has rank one by itself, so each
input is known up to a scalar *without any label*; only that scalar needs the chain (labelinf theory, the singular
chain).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.networks import Perceptron
from labelinf_gradients.recovery.factor import principal

__all__ = ["as_printed", "inputs_by_recursion", "inputs_by_singular_chain"]


def inputs_by_recursion(
    network: Perceptron, releases: Mapping[str, NDArray[Any]], features: NDArray[Any], errors: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the inputs of single samples, shape ``(n, d)``.

    Args:
        network: The network, which is public.
        releases: Gradients of all weights, shape ``(n, n_out, n_in)`` each.
        features: Recovered inputs of the last layer, shape ``(n, I)``.
        errors: Recovered ``p - y``, shape ``(n, C)``.
    """
    entering, delta = features.astype(np.float64), errors.astype(np.float64)
    for number in range(len(network.layers) - 1, 0, -1):
        weights = network.layers[number].weights.astype(np.float64)
        delta = (delta @ weights) * network.activation.slope(entering)
        entering = _quotient(releases[f"layers.{number - 1}.weight"], delta)
    return entering


def as_printed(
    network: Perceptron, releases: Mapping[str, NDArray[Any]], errors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return inputs by equations 6 and 7 as printed: no slope of the activation, one row instead of least squares.

    Args:
        network: The network, which is public.
        releases: Gradients of all weights.
        errors: ``p - y``, shape ``(n, C)``.
    """
    delta = errors
    for layer in network.layers[:0:-1]:
        delta = delta @ layer.weights.astype(np.float64)
    at, row = np.arange(len(delta)), np.abs(delta).argmax(axis=1)
    return np.asarray(releases["layers.0.weight"][at, row] / delta[at, row][:, None])


def _quotient(gradients: NDArray[Any], delta: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.einsum("no,no->n", delta, delta)
    products = np.matmul(delta[:, None, :], gradients)[:, 0]
    return np.asarray(products / np.where(size > 0, size, np.inf)[:, None])


def inputs_by_singular_chain(
    network: Perceptron, releases: Mapping[str, NDArray[Any]], features: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the inputs of single samples from noisy gradients of a ReLU network, shape ``(n, d)``.

    Every layer's input is its gradient's leading right singular vector times a scalar, and the scalars are fixed from
    the last layer down: a layer must turn its input into the one above, ``s relu(W v) = x_above`` in least squares.

    Args:
        network: The network; without biases, so that layers are homogeneous.
        releases: Gradients of all weights.
        features: Recovered inputs of the last layer, whose length alone is used.
    """
    last = len(network.layers) - 1
    own = principal(releases[f"layers.{last}.weight"], nonnegative=network.nonnegative).direction
    above = own * np.linalg.norm(features, axis=1, keepdims=True)
    for number in range(last - 1, -1, -1):
        direction = principal(releases[f"layers.{number}.weight"], nonnegative=True).direction
        weights = network.layers[number].weights.astype(np.float64)
        scale, misfit = _best_scale(network.activation(direction @ weights.T), above)
        if number == 0:  # inputs may have any sign, what hidden layers pass on may not
            turned, other = _best_scale(network.activation(-direction @ weights.T), above)
            scale = np.where(other < misfit, -turned, scale)
        above = scale[:, None] * direction
    return np.asarray(above)


def _best_scale(
    passed: NDArray[np.float64], wanted: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``s`` of least squares in ``s passed = wanted``, and the squared misfit, both shape ``(n,)``."""
    size = np.einsum("no,no->n", passed, passed)
    scale = np.einsum("no,no->n", passed, wanted) / np.where(size > 0, size, np.inf)
    return scale, ((scale[:, None] * passed - wanted) ** 2).sum(axis=1)
