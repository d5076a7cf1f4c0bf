"""Any bias gradient gives any label; without one the complete gradient is the same at every scale."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.closed_forms import from_hidden_bias, from_last_bias
from labelinf_gradients.game.networks import Activation, Layer, Perceptron, softmax


def arbitrary(dtype: str, *, bias: bool) -> tuple[Perceptron, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    network = Perceptron.random((12, 20, 7), rng, bias=bias, dtype=dtype)
    x, labels = rng.random((200, 12)), rng.dirichlet(np.ones(7), 200)
    return network, x, labels, dict(network.gradients(x, labels))


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-5), ("float64", 1e-12)])
def test_the_last_bias_gives_any_label(dtype: str, limit: float) -> None:
    network, x, labels, gradients = arbitrary(dtype, bias=True)

    found, features, misfit = from_last_bias(
        gradients["layers.1.weight"], gradients["layers.1.bias"], network.classifier
    )

    assert np.abs(found - labels).sum(axis=1).max() < limit
    assert np.abs(features - network.features(x)).max() < 10 * limit
    assert misfit.max() < limit


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-4), ("float64", 1e-11)])
def test_the_hidden_bias_gives_any_label_though_the_last_layer_has_none(dtype: str, limit: float) -> None:
    network, x, labels, _ = arbitrary(dtype, bias=True)
    headless = Perceptron(layers=(network.layers[0], Layer(weights=network.classifier.weights)))
    gradients = headless.gradients(x, labels)

    found, *_ = from_hidden_bias(gradients["layers.1.weight"], gradients["layers.0.bias"], headless.classifier)

    assert np.abs(found - labels).sum(axis=1).max() < limit


def test_without_any_bias_the_complete_gradient_is_the_same_for_another_input_and_label() -> None:
    network, x, labels, gradients = arbitrary("float64", bias=False)
    scale = 1.7
    errors = softmax(network.logits(x)) - labels
    other = softmax(scale * network.logits(x)) - errors / scale

    again = network.gradients(scale * x, other)

    assert np.allclose(other.sum(axis=1), 1)
    for name, part in gradients.items():
        assert np.abs(part - again[name]).max() < 1e-14


@pytest.mark.parametrize(
    ("activation", "holds"), [(Activation.RELU, True), (Activation.TANH, False), (Activation.SIGMOID, False)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_show_whether_the_hidden_closed_form_holds(activation: Activation, holds: bool, dtype: str) -> None:
    rng = np.random.default_rng(0)
    network = Perceptron.random((8, 16, 6), rng, activation=activation, dtype=dtype)
    labels = rng.dirichlet(np.ones(6), 50)
    found = network.gradients(rng.random((50, 8)), labels)

    soft, _, misfit = from_hidden_bias(found["layers.1.weight"], found["layers.0.bias"], network.classifier)

    assert (misfit < 1e-3).all() if holds else (misfit > 1e-3).all()
    assert (np.median(np.abs(soft - labels).sum(axis=1)) < 1e-3) == holds
