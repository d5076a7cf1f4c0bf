"""G3: one sample's last-layer gradient is (p - y) x' (Wang et al., ICLR 2024, equation 2)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_gradients.game.networks import Layer, Perceptron, softmax


def test_the_worked_gradient() -> None:
    network = Perceptron(layers=(Layer(weights=np.log([[1.0], [2.0], [4.0]])),))

    gradient = network.gradients(np.array([[1.0]]), np.array([[1.0, 0.0, 0.0]]))["layers.0.weight"]

    assert gradient[0, :, 0] == pytest.approx(np.array([-6, 2, 4]) / 7, abs=1e-15)


def test_it_is_the_derivative_of_the_loss_of_rank_one_and_its_rows_sum_to_zero() -> None:
    rng = np.random.default_rng(0)
    weights, x, y = rng.normal(size=(5, 4)), rng.normal(size=4), rng.dirichlet(np.ones(5))
    network = Perceptron(layers=(Layer(weights=weights),))

    gradient = network.gradients(x[None], y[None])["layers.0.weight"][0]

    def loss(moved: np.ndarray) -> float:
        return float(-(y * np.log(softmax(moved @ x))).sum())

    for at in np.ndindex(5, 4):
        step = np.zeros((5, 4))
        step[at] = 1e-6
        slope = (loss(weights + step) - loss(weights - step)) / 2e-6
        assert gradient[at] == pytest.approx(slope, abs=1e-8)
    assert np.linalg.matrix_rank(gradient) == 1
    assert np.abs(gradient.sum(axis=0)).max() < 1e-15
