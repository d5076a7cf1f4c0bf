"""Inputs of a fully connected network from its gradients, and how the ratio is measured."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.channels.networks import Perceptron, softmax
from labelinf_gradients.reconstruction.chain import inputs_by_recursion, inputs_by_singular_chain
from labelinf_gradients.reconstruction.quality import psnr
from labelinf_gradients.recovery.solver import recover


def released(dtype: str, family: str = "smoothing") -> tuple[Perceptron, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    network = Perceptron.random((32, 64, 48, 10), rng, bias=False, dtype=dtype)
    x = rng.random((100, 32))
    factor = rng.uniform(0, 0.5, (100, 1))
    labels = (1 - factor) * np.eye(10)[rng.integers(10, size=100)] + factor / 10
    return network, x, dict(network.gradients(x, labels))


@pytest.mark.parametrize(("dtype", "least"), [("float32", 100), ("float64", 250)])
def test_inputs_come_out_of_clean_gradients(dtype: str, least: float) -> None:
    network, x, gradients = released(dtype)
    weights = network.classifier.weights
    found = recover(gradients["layers.2.weight"], weights, family="smoothing", nonnegative=True)
    errors = softmax(found.features @ weights.T.astype(float)) - found.labels

    inputs = inputs_by_recursion(network, gradients, found.features, errors)

    assert np.median(psnr(inputs, x)) > least


def test_under_noise_each_layers_own_direction_is_far_better() -> None:
    network, x, gradients = released("float64")
    rng = np.random.default_rng(1)
    noisy = {name: part + 1e-4 * rng.normal(size=part.shape) for name, part in gradients.items()}
    features = network.features(x)
    errors = features @ network.classifier.weights.T
    errors = softmax(errors) - 0.1

    by_chain = psnr(inputs_by_singular_chain(network, noisy, features), x)
    by_recursion = psnr(inputs_by_recursion(network, noisy, features, errors), x)

    assert np.median(by_chain) > np.median(by_recursion) + 15


def test_the_ratio_is_that_of_floats_and_eight_bits_cap_it() -> None:
    x = np.random.default_rng(0).random((50, 200))

    assert psnr(x + 0.1, x) == pytest.approx(np.full(50, 20.0))
    assert np.isinf(psnr(x, x)).all()
    truncated = np.floor(x * 255) / 255
    assert 50 < np.median(psnr(truncated, x)) < 54
