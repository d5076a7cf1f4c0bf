"""A score channel with made labels, and a defence whose noise is as bad as it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveDefence, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, Refusing, ScoreEffect
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


@attrs.frozen(kw_only=True)
class WorstNoise(ScoreDefence):
    """Moves every score by exactly ``tau``, up or down at random."""

    tau: float

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=self.tau, std=self.tau),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveDefence:
        return _Noisy(self.tau, rng)


class _Noisy(ActiveDefence):
    def __init__(self, tau: float, rng: np.random.Generator) -> None:
        self.tau, self.rng = tau, rng

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query) + self.rng.choice([-self.tau, self.tau])


@attrs.frozen(kw_only=True)
class RefuseEverySecond(ScoreDefence):
    """Declines every second query."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Refusing(),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveDefence:
        return _Refusing()


class _Refusing(ActiveDefence):
    asked = 0

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        self.asked += 1
        if self.asked % 2:
            raise QueryRefusedError("no")
        return ask(labels, query)


def labels_for(n: int, n_classes: int, seed: int = 0) -> LabelSet:
    labels = np.random.default_rng(seed).integers(0, n_classes, n)
    return LabelSet(labels=labels, class_names=tuple(map(str, range(n_classes))), title="made", provenance="made")


Play = Callable[..., Bout]


@pytest.fixture
def play() -> Play:
    """Play one attack against a curator of ``n`` made labels."""

    def run(
        attack: ScoreAttack,
        n: int,
        *,
        n_classes: int = 2,
        loss: AdditiveLoss | None = None,
        scorer: str = "exact",
        defences: tuple[ScoreDefence, ...] = (),
        queries: int = 0,
        data: LabelSet | None = None,
        seed: int = 1,
    ) -> Bout:
        channel = ScoreChannel(loss=loss or LogLoss(), scorer=scorer, queries=queries)
        setting = Setting(data=data or labels_for(n, n_classes), attack=attack, defences=defences)
        threat = channel.threat(setting)
        assert attack.refusal(threat) == ""
        rngs = np.random.default_rng(seed).spawn(2)
        outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        return Bout(outcome=outcome, promise=attack.promise(threat), threat=threat)

    return run


@pytest.fixture
def threat_of() -> Callable[..., ScoreThreat]:
    """What the adversary of a curator of ``n`` made labels knows."""

    def make(attack: ScoreAttack, n: int, **more: Any) -> ScoreThreat:
        loss, scorer = more.get("loss") or LogLoss(), more.get("scorer", "exact")
        data = labels_for(n, more.get("n_classes", 2))
        setting = Setting(data=data, attack=attack, defences=more.get("defences", ()))
        return ScoreChannel(loss=loss, scorer=scorer).threat(setting)

    return make


@pytest.fixture
def worst_noise() -> type[WorstNoise]:
    return WorstNoise


@pytest.fixture
def refuse_every_second() -> type[RefuseEverySecond]:
    return RefuseEverySecond
