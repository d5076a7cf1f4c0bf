"""Scores without an error of their own, a defence whose noise is as bad as it may be, and one that refuses."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, Refusing, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat


@attrs.frozen(kw_only=True)
class WorstNoise(ScoreDefence):
    """Moves every score by exactly ``tau``, up or down at random."""

    tau: float

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=self.tau, std=self.tau),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Noisy(self.tau, rng)


class _Noisy(ActiveScoreDefence):
    def __init__(self, tau: float, rng: np.random.Generator) -> None:
        self.tau, self.rng = tau, rng

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query) + self.rng.choice([-self.tau, self.tau])


@attrs.frozen(kw_only=True)
class RefuseEverySecond(ScoreDefence):
    """Declines every second query."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Refusing(),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Refusing()


class _Refusing(ActiveScoreDefence):
    asked = 0

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        self.asked += 1
        if self.asked % 2:
            raise QueryRefusedError("no")
        return ask(labels, query)


@pytest.fixture
def usual_scorer() -> str:
    return "exact"


@pytest.fixture
def worst_noise() -> type[WorstNoise]:
    return WorstNoise


@pytest.fixture
def refuse_every_second() -> type[RefuseEverySecond]:
    return RefuseEverySecond
