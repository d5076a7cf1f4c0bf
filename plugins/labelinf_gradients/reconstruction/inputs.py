r"""The inputs of single samples from the gradients of a fully connected network: label first, then layer by layer.

Example:
    >>> import numpy as np
    >>> from labelinf_gradients.game.networks import Perceptron
    >>> rng = np.random.default_rng(0)
    >>> network = Perceptron.random((6, 32, 24, 10), rng, bias=False)
    >>> x = rng.random((3, 6))
    >>> found = reconstruct(network, network.gradients(x, np.eye(10)[[3, 1, 4]]))
    >>> found.labels.argmax(axis=1), bool(np.abs(found.inputs - x).max() < 1e-9)
    (array([3, 1, 4]), True)

The clean way is :func:`~labelinf_gradients.reconstruction.chain.inputs_by_recursion` behind the exact solver. Where
gradients are noisy the likeliest label and
:func:`~labelinf_gradients.reconstruction.chain.inputs_by_singular_chain` take their places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_gradients.game.networks import Activation, Perceptron, softmax
from labelinf_gradients.noisy.likelihood import likeliest_scales
from labelinf_gradients.reconstruction.chain import inputs_by_recursion, inputs_by_singular_chain
from labelinf_gradients.recovery.factor import principal
from labelinf_gradients.recovery.patterns import patterns_for
from labelinf_gradients.recovery.problem import Problem
from labelinf_gradients.recovery.results import GradientPrecision, RecoveryStatus
from labelinf_gradients.recovery.solver import recover

__all__ = ["Reconstruction", "reconstruct", "reconstruct_noisy"]


@attrs.frozen(kw_only=True, eq=False)
class Reconstruction:
    """What came out.

    Attributes:
        inputs: Shape ``(n, d)``; NaN where no label explains the gradient.
        labels: Soft labels, shape ``(n, C)``; NaN as above.
        determined: Whether one label alone explains the gradient, shape ``(n,)``. Where none does, or several do (on a
            saturated network, a smoothed label's factor), without biases the input's length is open, not its direction.
    """

    inputs: NDArray[np.float64]
    labels: NDArray[np.float64]
    determined: NDArray[np.bool_]


def reconstruct(
    network: Perceptron,
    releases: Mapping[str, NDArray[Any]],
    *,
    family: str = "auto",
    precision: GradientPrecision | None = None,
) -> Reconstruction:
    """Reconstruct from clean gradients of single samples, whatever the activation, with biases or without.

    Args:
        network: The network, which is public.
        releases: Gradients of all weights, by parameter name, shape ``(n, *shape)``. Those of biases are not used.
        family: Of the labels: ``"one-hot"``, ``"smoothing"``, ``"mixup"`` or ``"auto"``.
        precision: How exactly the gradients are known; taken from their type unless told.

    Raises:
        InputError: Gradients of some weights are missing, do not fit or are not of single samples.
    """
    last = _last_layer(network, releases)
    classifier = network.classifier
    found = recover(
        last,
        classifier.weights,
        family=family,
        bias=classifier.bias,
        nonnegative=network.nonnegative,
        precision=precision,
    )
    errors = softmax(classifier(found.features)) - found.labels
    inputs = inputs_by_recursion(network, releases, found.features, errors)
    determined = np.array([status is RecoveryStatus.UNIQUE for status in found.status])
    return Reconstruction(inputs=inputs, labels=found.labels, determined=determined)


def reconstruct_noisy(network: Perceptron, releases: Mapping[str, NDArray[Any]], *, family: str) -> Reconstruction:
    """Reconstruct from noisy gradients of single samples of a ReLU network without biases; nothing is certain then.

    Args:
        network: The network.
        releases: As in :func:`reconstruct`.
        family: Of the labels, which noise does not show: ``"one-hot"``, ``"smoothing"`` or ``"mixup"``.

    Raises:
        InputError: As in :func:`reconstruct`, or the layers are not homogeneous.
    """
    if network.activation is not Activation.RELU or any(layer.bias is not None for layer in network.layers):
        raise InputError("noisy reconstruction needs a ReLU network without biases: its layers must be homogeneous.")
    if family == "auto":
        raise InputError("noisy reconstruction must be told the family of the labels; noise does not show it.")
    (pattern,) = patterns_for(family)
    parts = principal(_last_layer(network, releases), nonnegative=network.nonnegative)
    weights = network.classifier.weights.astype(np.float64)
    problem = Problem(column=parts.column, slopes=parts.direction @ weights.T, offsets=None)
    scales = likeliest_scales(problem, pattern, positive=network.nonnegative)
    features = scales[:, None] * parts.direction
    labels = softmax(features @ weights.T) - parts.column / scales[:, None]
    inputs = inputs_by_singular_chain(network, releases, features)
    return Reconstruction(inputs=inputs, labels=labels, determined=np.zeros(len(labels), dtype=bool))


def _last_layer(network: Perceptron, releases: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    for number, layer in enumerate(network.layers):
        name = f"layers.{number}.weight"
        if name not in releases:
            raise InputError(f"reconstruction needs the gradients of all weights; {name!r} is missing.")
        if releases[name].ndim != 3 or releases[name].shape[1:] != layer.weights.shape:
            expected = ", ".join(map(str, ("n", *layer.weights.shape)))
            raise InputError(f"gradients of {name!r} have shape {releases[name].shape}, expected ({expected}).")
    return releases[network.classifier_names[0]]
