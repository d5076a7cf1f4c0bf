"""Small runs of split learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_split.game.channel import SplitChannel
from labelinf_split.game.training import SplitRun, recorded
from labelinf_split.game.view import SplitAttack, SplitDefence

Played = Callable[..., tuple[SplitRun, NDArray[np.intp]]]


def made(n: int, n_classes: int, n_features: int = 8, seed: int = 0) -> LabelSet:
    """Return records whose features say something of their labels."""
    rng = np.random.default_rng(seed)
    labels = np.asarray(rng.permutation(np.arange(n) % n_classes), dtype=np.intp)
    features = rng.standard_normal((n, n_features)) + rng.standard_normal((n_classes, n_features))[labels]
    names = tuple(f"class {k}" for k in range(n_classes))
    return LabelSet(labels=labels, class_names=names, title="made", provenance="made", features=features)


@pytest.fixture(scope="session")
def two() -> LabelSet:
    return made(200, 2)


@pytest.fixture(scope="session")
def four() -> LabelSet:
    return made(320, 4)


@pytest.fixture
def played() -> Played:
    """Return a function from labels, defences and settings to a run and the labels that were planted in it."""

    def play(data: LabelSet, *defences: SplitDefence, seed: int = 0, **settings: Any) -> Any:
        channel = SplitChannel(**settings)
        threat = channel.threat(Setting(data=data, defences=defences))
        planted = np.random.default_rng(seed).integers(0, data.n_classes, threat.n_records, dtype=np.intp)
        return recorded(threat, data, planted, seed), planted

    return play


@pytest.fixture
def share(played: Played) -> Callable[..., float]:
    """Return a function to the share of planted labels that an attack guesses in several runs."""

    def guessed(attack: SplitAttack, data: LabelSet, *defences: SplitDefence, games: int = 1, **settings: Any) -> float:
        right = []
        for seed in range(games):
            run, planted = played(data, *defences, seed=seed, **settings)
            assert attack.unsupported_reason(run.view.threat) == ""
            right.append(attack.run(run.view, np.random.default_rng(seed)).labels == planted)
        return float(np.mean(right))

    return guessed
