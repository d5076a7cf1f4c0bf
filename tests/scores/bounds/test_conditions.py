"""What no attack exceeds says for whom: whether class counts are known to it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.guarantees import Direction
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

HOST = Host.load()
BUILDER = Builder(HOST)
STAGES = [
    "query-limit(queries=5)",
    "round(decimals=2)",
    "score-noise(model=grid-laplace(scale=0.1))",
    "gaussian-dp(epsilon=1,delta=1e-6,queries=5)",
    "randomised-response(epsilon=1)",
    "subset(share=0.3)",
    "permute-labels",
    "bounded-answers(values=2,queries=5)",
    "worst-case-noise(tau=0.1)",
    "ladder(step=0.01)",
    "guarded-board(share=0.3)",
]


@pytest.mark.parametrize("stage", STAGES)
def test_every_limit_of_scores_says_whether_class_counts_are_known(stage: str) -> None:
    """Counts are public on most boards: a limit for who does not know them, unsaid, is false."""
    labels = np.arange(60) % 2
    data = LabelSet(labels=labels, class_names=("a", "b"), title="made", provenance="made")
    bounds = [
        BUILDER.build(Kind.BOUND, item.descriptor.name, "test")
        for item in HOST.catalogue()
        if item.descriptor.kind is Kind.BOUND
    ]
    found = []
    for metric in ("log-loss", "roc-auc", "accuracy", "reciprocal-rank"):
        game = BUILDER.build(Kind.CHANNEL, f"score(metric={metric})", "test")
        threat = game.threat(Setting(data=data)).through((BUILDER.build(Kind.DEFENCE, stage, "test"),))
        for bound in bounds:
            found += bound.ceilings(threat)
            found += [line for line in bound.evaluate(threat) if line.direction is Direction.CEILING]

    assert len(found) > 8
    assert len(bounds) > 8
    assert [item for item in found if not re.search(r"class (counts|totals)|counts are", item.conditions)] == []
