"""E9: a label prior is not necessary for *all* analytical recovery (Wang et al., ICLR 2024, Section 3.4)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.closed_forms import from_hidden_bias, from_last_bias
from labelinf_gradients.game.networks import Layer, Perceptron, softmax


def arbitrary(rng: np.random.Generator) -> np.ndarray:
    """Labels of no family at all."""
    return rng.dirichlet(np.ones(7), 200)


def test_the_last_bias_gives_arbitrary_labels_without_a_prior() -> None:
    rng = np.random.default_rng(0)
    network, x, labels = Perceptron.random((12, 20, 7), rng), rng.normal(size=(200, 12)), arbitrary(rng)
    gradients = network.gradients(x, labels)

    found, *_ = from_last_bias(gradients["layers.1.weight"], gradients["layers.1.bias"], network.classifier)

    assert np.abs(found - labels).max() < 1e-12


def test_so_does_the_last_hidden_bias_alone() -> None:
    rng = np.random.default_rng(0)
    network, x, labels = Perceptron.random((12, 20, 7), rng), rng.normal(size=(200, 12)), arbitrary(rng)
    headless = Perceptron(layers=(network.layers[0], Layer(weights=network.classifier.weights)))
    gradients = headless.gradients(x, labels)

    found, *_ = from_hidden_bias(gradients["layers.1.weight"], gradients["layers.0.bias"], headless.classifier)

    assert np.abs(found - labels).sum(axis=1).max() < 1e-11


def test_without_biases_the_claim_is_sharp_though() -> None:
    """The complete gradient does not distinguish two labels: no algorithm without a prior can."""
    rng = np.random.default_rng(0)
    network, x, label = Perceptron.random((12, 20, 7), rng, bias=False), rng.random((1, 12)), arbitrary(rng)[:1]
    scale = 1.05
    errors = softmax(network.logits(x)) - label
    other = softmax(scale * network.logits(x)) - errors / scale

    one, two = network.gradients(x, label), network.gradients(scale * x, other)

    assert other.min() > 0
    assert other.sum() == pytest.approx(1)
    assert np.abs(other - label).sum() > 0.01
    assert max(np.abs(one[name] - two[name]).max() for name in one) < 1e-15
