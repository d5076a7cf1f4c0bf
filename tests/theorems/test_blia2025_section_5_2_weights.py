"""E13: alpha and beta are never given, and the result hangs on them (Khan et al., BLIA, 2025, section 5.2)."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_outputs.attacks.delta_margin import CERTAIN_RATIO, DeltaMargin
from labelinf_outputs.game.output import OutputOracle, OutputThreat, Release
from labelinf_outputs.game.view import LossOracle, View


def success(attack: DeltaMargin) -> float:
    """Success of Delta-Margin on labels that nobody saw, for one and the same confident model."""
    rng, m = np.random.default_rng(0), 4000
    p = np.where(rng.random(m) < 0.5, 0.9, 0.1)
    labels = rng.integers(0, 2, m)
    both = np.column_stack([1 - p, p])
    losses = -np.log(both[np.arange(m), labels])
    release = Release(probabilities=both, log_probabilities=np.log(both), losses=losses)
    threat = OutputThreat(n_records=m, n_classes=2, prior=(0.5, 0.5), declared=View(loss=LossOracle.PLANTED))
    oracle = OutputOracle(threat, release, lambda: pytest.fail("it needs no references"))
    return float((attack.run(oracle, rng).labels == labels).mean())


def test_the_same_outputs_give_anything_from_one_half_to_three_quarters() -> None:
    assert success(DeltaMargin(beta=0.1)) < 0.53
    assert success(DeltaMargin(beta=2 * CERTAIN_RATIO)) > 0.72
    assert success(DeltaMargin(beta=50.0)) < 0.53


def test_only_the_ratio_counts_and_it_is_one_unless_said() -> None:
    assert success(DeltaMargin(alpha=10.0, beta=20 * CERTAIN_RATIO)) == success(DeltaMargin(beta=2 * CERTAIN_RATIO))
    assert (DeltaMargin().alpha, DeltaMargin().beta) == (1.0, 1.0)
