"""What several attacks of this channel share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.gradient import GradientThreat

__all__ = ["gradient_threat", "one_sample_each", "spread_counts"]


def gradient_threat(threat: ThreatModel) -> GradientThreat | None:
    """Return the channel's own threat model, or None when ``threat`` is another channel's."""
    return threat if isinstance(threat, GradientThreat) else None


def one_sample_each(threat: ThreatModel) -> str:
    """Return why an attack on single samples cannot be played, empty when it can."""
    facts = gradient_threat(threat)
    if facts is None:
        return "needs the gradient channel"
    return "" if facts.batch == 1 else "needs one sample per release"


def spread_counts(counts: NDArray[Any]) -> NDArray[np.intp]:
    """Return labels of every release from counts of every class, shape ``(n, K)`` of integers with equal sums."""
    n, n_classes = counts.shape
    classes = np.tile(np.arange(n_classes), n)
    return np.repeat(classes, counts.ravel().astype(np.intp))
