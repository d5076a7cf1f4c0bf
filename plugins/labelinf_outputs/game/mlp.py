"""A network with one hidden layer in NumPy: the victim that needs nothing installed and trains in no time.

Rectified linear units, softmax, cross-entropy with hard or soft targets, Adam on the full batch (Kingma and Ba, ICLR
2015), weights drawn as PyTorch's ``Linear`` draws them, single precision. Features are standardised by the training
records; a constant feature is dropped.

Example:
    >>> x, y = np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([0, 1, 0, 1])
    >>> Mlp(random_state=0).fit(x, np.eye(2)[y]).predict_proba(x).argmax(axis=1)
    array([0, 1, 0, 1])
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

__all__ = ["LEARNING_RATE", "Mlp"]

Weights = list[NDArray[np.float32]]

LEARNING_RATE = 3e-3
_threads = functools.cache(ThreadpoolController)  # of BLAS; finding them takes as long as a short training
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


class Mlp:
    """One hidden layer, trained on the full batch.

    Args:
        epochs: Steps of Adam, at least 1. The default memorises a few hundred records.
        hidden: Units of the hidden layer, at least 1.
        weight_decay: Factor of half the squared weights in the loss.
        random_state: Seed of the initial weights.
    """

    soft_targets = True  #: fit takes shares of the classes, shape (n, K), instead of labels

    def __init__(
        self, *, epochs: int = 400, hidden: int = 256, weight_decay: float = 0.0, random_state: int = 0
    ) -> None:
        self._epochs = epochs
        self._hidden = hidden
        self._weight_decay = weight_decay
        self._seed = random_state

    def fit(self, features: NDArray[np.float64], targets: NDArray[np.float64]) -> Mlp:
        """Train on ``features``, shape ``(n, d)``, and ``targets``, shape ``(n, K)``."""
        spread = features.std(axis=0)
        self._kept = spread > 1e-9
        self._mean, self._spread = features.mean(axis=0)[self._kept], spread[self._kept]
        x, y = self._standard(features), targets.astype(np.float32)
        self._weights = _initial(x.shape[1], self._hidden, y.shape[1], np.random.default_rng(self._seed))
        moments = [[np.zeros_like(w) for w in self._weights] for _ in range(2)]
        training = _Pass(self._weights, x)
        # Sums must not depend on the number of cores; and threads cost more than they gain on arrays of this size.
        with _threads().limit(limits=1, user_api="blas"):
            for step in range(1, self._epochs + 1):
                _adam(self._weights, training.gradients(y, self._weight_decay), moments, step)
        return self

    def predict_log_proba(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return log-probabilities, shape ``(n, K)``; they do not saturate where probabilities do."""
        logits = _Pass(self._weights, self._standard(features)).logits().astype(np.float64)
        shifted: NDArray[np.float64] = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return shifted

    def predict_proba(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return probabilities, shape ``(n, K)``."""
        return np.exp(self.predict_log_proba(features))

    def _standard(self, features: NDArray[Any]) -> NDArray[np.float32]:
        scaled: NDArray[np.float32] = ((features[:, self._kept] - self._mean) / self._spread).astype(np.float32)
        return scaled


def _initial(inputs: int, hidden: int, outputs: int, rng: np.random.Generator) -> Weights:
    def draw(fan_in: int, *shape: int) -> NDArray[np.float32]:
        bound = 1 / math.sqrt(max(fan_in, 1))
        return rng.uniform(-bound, bound, shape).astype(np.float32)

    return [draw(inputs, inputs, hidden), draw(inputs, hidden), draw(hidden, hidden, outputs), draw(hidden, outputs)]


class _Pass:
    """One way forth and back through the network, in arrays that are kept: allocating them costs more than the sums."""

    def __init__(self, weights: Weights, x: NDArray[np.float32]) -> None:
        self._weights, self._x = weights, x
        self._hidden = np.empty((len(x), weights[0].shape[1]), dtype=np.float32)
        self._back = np.empty_like(self._hidden)
        self._active = np.empty(self._hidden.shape, dtype=bool)

    def logits(self) -> NDArray[np.float32]:
        inner, inner_bias, outer, outer_bias = self._weights
        np.matmul(self._x, inner, out=self._hidden)
        np.add(self._hidden, inner_bias, out=self._hidden)
        np.maximum(self._hidden, 0, out=self._hidden)
        return np.asarray(self._hidden @ outer + outer_bias)

    def gradients(self, y: NDArray[np.float32], decay: float) -> Weights:
        logits = self.logits()
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        delta = (odds / odds.sum(axis=1, keepdims=True) - y) / np.float32(len(y))
        np.matmul(delta, self._weights[2].T, out=self._back)
        np.greater(self._hidden, 0, out=self._active)
        np.multiply(self._back, self._active, out=self._back)
        inner, outer = self._x.T @ self._back, self._hidden.T @ delta
        if decay:
            inner += np.float32(decay) * self._weights[0]
            outer += np.float32(decay) * self._weights[2]
        return [inner, self._back.sum(axis=0), outer, delta.sum(axis=0)]


def _adam(weights: Weights, gradients: Weights, moments: list[Weights], step: int) -> None:
    """Take one step in place."""
    rate = np.float32(LEARNING_RATE * math.sqrt(1 - _BETA_2**step) / (1 - _BETA_1**step))
    for weight, gradient, first, second in zip(weights, gradients, *moments, strict=True):
        first += np.float32(1 - _BETA_1) * (gradient - first)
        second += np.float32(1 - _BETA_2) * (gradient * gradient - second)
        weight -= rate * first / (np.sqrt(second) + np.float32(_EPSILON))
