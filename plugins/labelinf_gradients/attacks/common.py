"""What several attacks of this channel share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.gradient import GradientGuess, GradientThreat

__all__ = ["flat", "given", "no_bias", "one_sample_each", "soft_guess", "spread_counts"]

T = TypeVar("T")


def one_sample_each(threat: GradientThreat) -> str:
    """Return why an attack on single samples cannot be played, empty when it can."""
    return "" if threat.batch == 1 else "needs one sample per release"


def no_bias(threat: GradientThreat) -> str:
    """Return why an attack on the last bias cannot be played, empty when it can."""
    return "" if threat.bias_shared else "needs the gradient of the last bias"


def given(part: T | None) -> T:
    """Return what an oracle shows; an attack that lacks it refuses before it is run."""
    if part is None:
        raise ValueError("the threat model says that this is not shown")
    return part


def flat(parts: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return gradients by parameter, shape ``(n, *shape)`` each, as one row a sample, shape ``(n, d)``."""
    return np.concatenate([part.reshape(len(part), -1) for part in parts.values()], axis=1).astype(np.float64)


def soft_guess(labels: NDArray[np.float64], threat: GradientThreat) -> GradientGuess:
    """Return soft labels, shape ``(n, C)``, as a guess; where they are not finite, nothing is known."""
    known = np.asarray(np.isfinite(labels).all(axis=1))
    soft = np.where(known[:, None], labels, 1 / threat.n_classes)
    return GradientGuess(labels=np.where(known, soft.argmax(axis=1), threat.majority), soft=soft)


def spread_counts(counts: NDArray[Any]) -> NDArray[np.intp]:
    """Return labels of every release from counts of every class, shape ``(n, K)`` of integers with equal sums."""
    n, n_classes = counts.shape
    classes = np.tile(np.arange(n_classes), n)
    return np.repeat(classes, counts.ravel().astype(np.intp))
