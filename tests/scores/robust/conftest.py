"""A score channel with made labels, and noise of known size in front of it."""

from __future__ import annotations

import math
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
class Gaussian(ScoreDefence):
    """Fresh Gaussian noise of standard deviation ``std``."""

    std: float

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=math.inf, std=self.std, fresh=True),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveDefence:
        return _Adding(lambda: self.std * rng.normal())


@attrs.frozen(kw_only=True)
class Extreme(ScoreDefence):
    """Moves every score by exactly ``tau``, up or down at random; told or untold."""

    tau: float
    told: bool = True

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=self.tau, std=self.tau),) if self.told else ()

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveDefence:
        return _Adding(lambda: float(rng.choice([-self.tau, self.tau])))


class _Adding(ActiveDefence):
    def __init__(self, draw: Callable[[], float]) -> None:
        self.draw = draw

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query) + self.draw()


@attrs.frozen(kw_only=True)
class RefuseEverything(ScoreDefence):
    """Declines every query."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Refusing(),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveDefence:
        return _Refusing()


class _Refusing(ActiveDefence):
    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        raise QueryRefusedError("no")


@attrs.frozen(kw_only=True)
class Defences:
    gaussian: type[Gaussian] = Gaussian
    extreme: type[Extreme] = Extreme
    refuse: type[RefuseEverything] = RefuseEverything


def setting_of(attack: ScoreAttack, labels: Any, n_classes: int, defences: tuple[ScoreDefence, ...] = ()) -> Setting:
    names = tuple(map(str, range(n_classes)))
    data = LabelSet(labels=np.asarray(labels), class_names=names, title="made", provenance="made")
    return Setting(data=data, attack=attack, defences=defences)


def made_labels(n: int, n_classes: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, n_classes, n)


@pytest.fixture
def defences() -> Defences:
    return Defences()


@pytest.fixture
def play() -> Callable[..., Bout]:
    """Play one attack against a curator of ``n`` made labels."""

    def run(
        attack: ScoreAttack,
        n: int,
        *,
        n_classes: int = 2,
        labels: Any = None,
        loss: AdditiveLoss | None = None,
        scorer: str = "sklearn",
        defences: tuple[ScoreDefence, ...] = (),
        queries: int = 0,
        seed: int = 1,
    ) -> Bout:
        channel = ScoreChannel(loss=loss or LogLoss(), scorer=scorer, queries=queries)
        labels = made_labels(n, n_classes) if labels is None else labels
        setting = setting_of(attack, labels, n_classes, defences)
        threat = channel.threat(setting)
        assert attack.refusal(threat) == ""
        rngs = np.random.default_rng(seed).spawn(2)
        outcome = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        return Bout(outcome=outcome, promise=attack.promise(threat), threat=threat)

    return run


@pytest.fixture
def threat_of() -> Callable[..., ScoreThreat]:
    """What the adversary of a curator of ``n`` made labels knows."""

    def make(
        attack: ScoreAttack, n: int, *, n_classes: int = 2, loss: Any = None, scorer: str = "sklearn", **facts: Any
    ):
        channel = ScoreChannel(loss=loss or LogLoss(), scorer=scorer)
        return attrs.evolve(channel.threat(setting_of(attack, made_labels(n, n_classes), n_classes)), **facts)

    return make
