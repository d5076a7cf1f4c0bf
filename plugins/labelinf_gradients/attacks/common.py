"""What several attacks of this channel share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.game.gradient import GradientThreat

__all__ = ["one_sample_each", "spread_counts"]


def one_sample_each(threat: GradientThreat) -> str:
    """Return why an attack on single samples cannot be played, empty when it can."""
    return "" if threat.batch == 1 else "needs one sample per release"


def spread_counts(counts: NDArray[Any]) -> NDArray[np.intp]:
    """Return labels of every release from counts of every class, shape ``(n, K)`` of integers with equal sums."""
    n, n_classes = counts.shape
    classes = np.tile(np.arange(n_classes), n)
    return np.repeat(classes, counts.ravel().astype(np.intp))
