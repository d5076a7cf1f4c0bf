"""A score channel with made labels: one trial of an attack, and what its adversary knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.log_loss import LogLoss


@attrs.frozen(kw_only=True)
class Bout:
    """One trial, with what was known before it."""

    outcome: Outcome
    promise: Promise | None
    threat: ScoreThreat

    @property
    def accuracy(self) -> float:
        return self.outcome.n_correct / self.outcome.n_records

    @property
    def certified(self) -> bool:
        return self.promise is not None and self.promise.certified


def made(n: int, n_classes: int, labels: Any = None) -> LabelSet:
    drawn = np.random.default_rng(0).integers(0, n_classes, n) if labels is None else np.asarray(labels)
    return LabelSet(labels=drawn, class_names=tuple(map(str, range(n_classes))), title="made", provenance="made")


@pytest.fixture
def usual_scorer() -> str:
    """What scores where a test does not say."""
    return "sklearn"


@pytest.fixture
def play(usual_scorer: str) -> Callable[..., Bout]:
    """Play one attack against a curator of ``n`` made labels."""

    def run(
        attack: ScoreAttack,
        n: int,
        *,
        n_classes: int = 2,
        data: LabelSet | None = None,
        labels: Any = None,
        loss: AdditiveLoss | None = None,
        scorer: str = usual_scorer,
        defences: tuple[ScoreDefence, ...] = (),
        queries: int = 0,
        seed: int = 1,
    ) -> Bout:
        channel = ScoreChannel(loss=loss or LogLoss(), scorer=scorer, queries=queries)
        setting = Setting(data=data or made(n, n_classes, labels), attack=attack, defences=defences)
        threat = channel.threat(setting)
        assert attack.unsupported_reason(threat) == ""
        rngs = np.random.default_rng(seed).spawn(2)
        outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        return Bout(outcome=outcome, promise=attack.promise(threat), threat=threat)

    return run


@pytest.fixture
def threat_of(usual_scorer: str) -> Callable[..., ScoreThreat]:
    """What the adversary of a curator of ``n`` made labels knows; further facts are put in their place."""

    def make(
        attack: ScoreAttack,
        n: int,
        *,
        n_classes: int = 2,
        loss: AdditiveLoss | None = None,
        scorer: str = usual_scorer,
        defences: tuple[ScoreDefence, ...] = (),
        **facts: Any,
    ) -> ScoreThreat:
        setting = Setting(data=made(n, n_classes), attack=attack, defences=defences)
        return attrs.evolve(ScoreChannel(loss=loss or LogLoss(), scorer=scorer).threat(setting), **facts)

    return make
