"""The built-in victim, against a slow network written independently."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_outputs.game.mlp import Mlp

Floats = NDArray[np.float64]


def slow_network(x: Floats, y: Floats, epochs: int, hidden: int, decay: float, seed: int) -> Floats:
    """The same network in double precision, its gradient by central differences of the loss."""
    rng = np.random.default_rng(seed)
    x = (x - x.mean(axis=0)) / x.std(axis=0)

    def draw(fan_in: int, *shape: int) -> Floats:
        return rng.uniform(-1 / np.sqrt(fan_in), 1 / np.sqrt(fan_in), shape).astype(np.float32).astype(float)

    d, k = x.shape[1], y.shape[1]
    parts = [draw(d, d, hidden), draw(d, hidden), draw(hidden, hidden, k), draw(hidden, k)]
    shapes = [part.shape for part in parts]
    theta = np.concatenate([part.ravel() for part in parts])

    def logits(t: Floats) -> Floats:
        w, rest = [], t
        for shape in shapes:
            size = int(np.prod(shape))
            w.append(rest[:size].reshape(shape))
            rest = rest[size:]
        return np.asarray(np.maximum(x @ w[0] + w[1], 0) @ w[2] + w[3])

    def loss(t: Floats) -> float:
        z = logits(t)
        logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        inner, outer = t[: d * hidden], t[d * hidden + hidden : d * hidden + hidden + hidden * k]
        return float(-(y * logs).sum(axis=1).mean() + decay / 2 * ((inner**2).sum() + (outer**2).sum()))

    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for step in range(1, epochs + 1):
        gradient = np.array([(loss(theta + h) - loss(theta - h)) / 2e-6 for h in 1e-6 * np.eye(theta.size)])
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        theta = theta - 3e-3 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    z = logits(theta)
    return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_it_trains_as_a_slow_network_does(decay: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 2)), rng.dirichlet(np.ones(3), 12)

    fast = Mlp(epochs=20, hidden=4, weight_decay=decay, random_state=5).fit(x, y).predict_log_proba(x)

    np.testing.assert_allclose(fast, slow_network(x, y, 20, 4, decay, 5), atol=2e-3)


def test_it_memorises_random_labels() -> None:
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((60, 10)), rng.integers(0, 2, 60)

    model = Mlp(epochs=300).fit(x, np.eye(2)[labels])

    assert (model.predict_proba(x).argmax(axis=1) == labels).all()


def test_the_same_seed_gives_the_same_network_and_another_does_not() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((30, 3)), np.eye(2)[rng.integers(0, 2, 30)]
    predictions = [Mlp(epochs=5, random_state=seed).fit(x, y).predict_proba(x) for seed in (0, 0, 1)]

    assert np.array_equal(predictions[0], predictions[1])
    assert not np.array_equal(predictions[0], predictions[2])


def test_constant_features_do_not_disturb_it() -> None:
    x = np.hstack([np.linspace(0, 1, 20)[:, None], np.ones((20, 2))])
    labels = (x[:, 0] > 0.5).astype(int)

    predicted = Mlp(epochs=200).fit(x, np.eye(2)[labels]).predict_proba(x)

    assert np.isfinite(predicted).all()
    assert (predicted.argmax(axis=1) == labels).all()


def test_log_probabilities_do_not_saturate() -> None:
    x = np.linspace(-1, 1, 10)[:, None]
    model = Mlp(epochs=2000).fit(x, np.eye(2)[(x[:, 0] > 0).astype(int)])

    logs = model.predict_log_proba(1000 * x)

    assert np.isfinite(logs).all()
    assert logs.min() < -100
