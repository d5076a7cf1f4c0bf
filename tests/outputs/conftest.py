"""Small games of the model-output channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_outputs.game.canaries import CanaryGame
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.output import OutputDefence, OutputThreat

TREE = "sklearn.tree:DecisionTreeClassifier"  # memorises every label at once

GameOf = Callable[..., tuple[OutputThreat, CanaryGame]]


@pytest.fixture(scope="session")
def records() -> LabelSet:
    """200 made records with 6 features, two classes that a line separates but for some noise."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200, 6))
    labels = (features[:, 0] + 0.5 * rng.standard_normal(200) > 0).astype(np.intp)
    return LabelSet(labels=labels, class_names=("no", "yes"), title="made", provenance="made", features=features)


@pytest.fixture(scope="session")
def many_classes() -> LabelSet:
    """240 made records with 6 features and four classes."""
    rng = np.random.default_rng(1)
    features = rng.standard_normal((240, 6))
    labels = (2 * (features[:, 0] > 0) + (features[:, 1] > 0)).astype(np.intp)
    names = ("a", "b", "c", "d")
    return LabelSet(labels=labels, class_names=names, title="made", provenance="made", features=features)


@pytest.fixture
def game_of(records: LabelSet) -> GameOf:
    """Return a function from defences and channel settings to a threat model and a game."""

    def game(*defences: OutputDefence, data: LabelSet = records, seed: int = 0, **settings: Any) -> Any:
        channel = OutputChannel(**{"victim": TREE, "references": 4, **settings})
        threat = channel.threat(Setting(data=data, defences=defences))
        return threat, CanaryGame(channel.plan, data, defences, seed)

    return game
