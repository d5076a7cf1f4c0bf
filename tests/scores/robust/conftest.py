"""Noise of known size, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, Refusing, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat


@attrs.frozen(kw_only=True)
class Gaussian(ScoreDefence):
    """Fresh Gaussian noise of standard deviation ``std``."""

    std: float

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=math.inf, std=self.std, fresh=True),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Adding(lambda: self.std * rng.normal())


@attrs.frozen(kw_only=True)
class Extreme(ScoreDefence):
    """Moves every score by exactly ``tau``, up or down at random; told or untold."""

    tau: float
    told: bool = True

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=self.tau, std=self.tau),) if self.told else ()

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Adding(lambda: float(rng.choice([-self.tau, self.tau])))


class _Adding(ActiveScoreDefence):
    def __init__(self, draw: Callable[[], float]) -> None:
        self.draw = draw

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query) + self.draw()


@attrs.frozen(kw_only=True)
class RefuseEverything(ScoreDefence):
    """Declines every query."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Refusing(),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Refusing()


class _Refusing(ActiveScoreDefence):
    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        raise QueryRefusedError("no")


@attrs.frozen(kw_only=True)
class Defences:
    gaussian: type[Gaussian] = Gaussian
    extreme: type[Extreme] = Extreme
    refuse: type[RefuseEverything] = RefuseEverything


@pytest.fixture
def defences() -> Defences:
    return Defences()
