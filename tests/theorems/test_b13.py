"""E13: alpha and beta are never given, and the result hangs on them (Khan et al., BLIA, 2025, section 5.2)."""

from __future__ import annotations

import numpy as np

from labelinf_outputs.attacks.delta_margin import CERTAIN_RATIO, scores


def success(ratio: float) -> float:
    """Success of Delta-Margin on labels that nobody saw, for one and the same confident model."""
    rng = np.random.default_rng(0)
    p = np.where(rng.random(4000) < 0.5, 0.9, 0.1)
    labels = rng.integers(0, 2, p.size)
    losses = -np.log(np.where(labels == 1, p, 1 - p))
    return float(((scores(np.column_stack([1 - p, p]), losses, 1.0, ratio) > 0) == labels).mean())


def test_the_same_outputs_give_anything_from_one_half_to_three_quarters() -> None:
    assert success(0.1) < 0.53
    assert success(2 * CERTAIN_RATIO) > 0.72
    assert success(50.0) < 0.53
