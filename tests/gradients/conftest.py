"""Made gradients with a known answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_gradients.game.networks import softmax


@attrs.frozen(kw_only=True, eq=False)
class Made:
    weights: NDArray[Any]
    features: NDArray[Any]
    labels: NDArray[Any]
    gradients: NDArray[Any]


def soft_labels(rng: np.random.Generator, n: int, n_classes: int, family: str) -> NDArray[np.float64]:
    first = rng.integers(n_classes, size=n)
    labels = np.eye(n_classes)[first]
    if family == "smoothing":
        factor = rng.uniform(0, 0.5, (n, 1))
        return (1 - factor) * labels + factor / n_classes
    if family == "mixup":
        second = (first + rng.integers(1, n_classes, size=n)) % n_classes
        weight = rng.uniform(0, 1, (n, 1))
        return weight * labels + (1 - weight) * np.eye(n_classes)[second]
    return labels


@pytest.fixture
def make_labels() -> Callable[..., NDArray[np.float64]]:
    """Draw soft labels of a family."""
    return soft_labels


@pytest.fixture
def make() -> Callable[..., Made]:
    """Make last-layer gradients of single samples in the arithmetic of ``dtype``."""

    def made(
        *,
        n: int = 60,
        n_classes: int = 10,
        n_features: int = 64,
        family: str = "one-hot",
        dtype: str = "float32",
        spread: float = 1.0,
        bias: NDArray[Any] | None = None,
        seed: int = 0,
    ) -> Made:
        rng = np.random.default_rng(seed)
        weights = (rng.uniform(-1, 1, (n_classes, n_features)) * spread / np.sqrt(n_features)).astype(dtype)
        features = np.maximum(rng.normal(size=(n, n_features)), 0).astype(dtype)
        labels = soft_labels(rng, n, n_classes, family).astype(dtype)
        logits = features @ weights.T
        if bias is not None:
            logits = logits + bias.astype(dtype)
        errors = softmax(logits) - labels
        return Made(
            weights=weights, features=features, labels=labels, gradients=errors[:, :, None] * features[:, None, :]
        )

    return made
