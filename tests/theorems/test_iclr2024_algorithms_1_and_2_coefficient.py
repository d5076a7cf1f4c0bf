"""E2: the coefficient divides (Wang et al., ICLR 2024, Algorithms 1 and 2 print a product)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_data.bundled import load_bunch
from labelinf_gradients.game.networks import Perceptron
from labelinf_papers.search.algorithm import search
from labelinf_papers.search.loss import label_loss

COEFFICIENT, START = 4.0, 0.7


@pytest.fixture(scope="module")
def digits() -> tuple[Perceptron, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    data = load_bunch("digits")
    network = Perceptron.random((64, 512, 10), rng, bias=False)
    rows = rng.permutation(len(data.target))[:400]
    factor = rng.uniform(0, 0.5, (400, 1))
    labels = (1 - factor) * np.eye(10)[data.target[rows]] + factor / 10
    gradients = network.gradients(data.data[rows] / 16, labels)["layers.1.weight"]
    sums = gradients.sum(axis=2)
    row = np.abs(sums).argmax(axis=1)
    errors = sums[np.arange(400), row] / network.features(data.data[rows] / 16).sum(axis=1)
    return network, gradients, labels, 1 / errors


def test_as_printed_the_truth_lies_before_the_first_box(
    digits: tuple[Perceptron, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    true = np.abs(digits[3])

    assert true.min() >= 1
    assert (true / COEFFICIENT).max() < START  # x = lambda (coe g_r)
    assert (true * COEFFICIENT).min() > START  # x = lambda (g_r / coe)
    assert (true * COEFFICIENT).max() < 50


@pytest.mark.long
def test_swarms_find_it_by_division_and_never_by_the_product(
    digits: tuple[Perceptron, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    network, gradients, labels, _ = digits
    weights = network.classifier.weights
    close: dict[float, list[bool]] = {COEFFICIENT: [], 1 / COEFFICIENT: []}
    for gradient, label in zip(gradients[:8], labels, strict=False):
        for coefficient, hits in close.items():
            loss = label_loss(gradient, weights, coefficient=coefficient, excluded=1)
            found = search(loss, np.random.default_rng(0), population=100, iterations=40, gradient=False)
            hits.append(bool(np.abs(loss.labels(np.array([found.scalar]))[0] - label).sum() < 1e-3))

    assert all(close[COEFFICIENT])
    assert not any(close[1 / COEFFICIENT])
