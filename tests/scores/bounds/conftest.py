"""Threat models of the score channel, made directly or by a pipeline of defences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labelinf_scores.game.threat import ScoreThreat
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
            "scorer_clip": facts.pop("clip", 0.01),
            "granted": facts.pop("query_budget", None),
        }
        defences = facts.pop("defences", ())
        return ScoreThreat(n_classes=n_classes, **{**defaults, **facts}).through(defences)

    return make
