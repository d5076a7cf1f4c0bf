"""E7: the recursion of equations 6 and 7 (Wang et al., ICLR 2024) needs the activation's slope."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import Activation, Layer, Perceptron, softmax
from labelinf_gradients.reconstruction.chain import inputs_by_recursion


def test_the_counterexample() -> None:
    """W = (1, 1), dL/dz = 1, previous output (2, 0)."""
    first, second = np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])
    as_printed = second.T @ np.array([1.0])
    hidden = np.maximum(first @ np.array([2.0]), 0)

    def loss(moved: np.ndarray) -> float:  # L = z, so that dL/dz = 1
        return float((second @ np.maximum(moved, 0))[0])

    before = first @ np.array([2.0])
    true = [(loss(before + step) - loss(before - step)) / 2e-6 for step in 1e-6 * np.eye(2)]

    assert hidden.tolist() == [2, 0]
    assert as_printed.tolist() == [1, 1]
    assert true == pytest.approx([1, 0])
    assert as_printed * Activation.RELU.slope(hidden) == pytest.approx(true)


def test_without_the_slope_inputs_are_wrong_and_with_it_exact() -> None:
    rng = np.random.default_rng(0)
    network = Perceptron(layers=tuple(Layer(weights=rng.normal(size=shape)) for shape in ((16, 9), (5, 16))))
    x, labels = rng.random((50, 9)), rng.dirichlet(np.ones(5), 50)
    gradients, features = network.gradients(x, labels), network.features(x)
    errors = softmax(network.logits(x)) - labels

    found = inputs_by_recursion(network, gradients, features, errors)
    delta = errors @ network.classifier.weights  # equation 6 as printed
    rows = gradients["layers.0.weight"]
    printed = np.einsum("noi,no->ni", rows, delta) / (delta**2).sum(axis=1, keepdims=True)

    assert np.abs(found - x).max() < 1e-9
    assert np.median(np.abs(printed - x).max(axis=1)) > 0.1
