"""Threat models of the score channel, made directly or by a pipeline of defences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labelinf_scores.game.score import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss


@pytest.fixture
def make_threat() -> Callable[..., ScoreThreat]:
    def make(**facts: Any) -> ScoreThreat:
        n_classes = facts.pop("n_classes", 2)
        defaults: dict[str, Any] = {
            "n_records": 1000,
            "prior": (1 / n_classes,) * n_classes,
            "loss": LogLoss(),
            "arithmetic": "float64",
            "summation": "numpy",
            "clip": 0.01,
        }
        threat = ScoreThreat(n_classes=n_classes, **{**defaults, **facts})
        for defence in threat.defences:
            told = defence.tell(threat)
            assert isinstance(told, ScoreThreat)
            threat = told
        return threat

    return make
