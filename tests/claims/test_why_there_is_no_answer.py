"""That a scorer has no answer is one answer more, and is counted; why it has none could be any number of them."""

from __future__ import annotations

import sys
import types
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Guess, LabelSet, Setting
from labelinf_core.contracts.errors import LabelinfError
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle

BUILDER = Builder(Host.load())
N = 200
DATA = LabelSet(
    labels=np.random.default_rng(0).permutation(np.arange(N) % 2),
    class_names=("a", "b"),
    title="made",
    provenance="made",
)


@attrs.frozen(kw_only=True)
class Listening(ScoreAttack):
    """Asks what cannot be scored, and reads labels from whatever it is told of that."""

    catches: bool = True
    runs = True

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        try:
            oracle.query(np.full(N, 0.125))
        except LabelinfError as error:
            told = " ".join(map(str, (error, error.__cause__, error.__context__)))
            if not self.catches:
                raise
        digits = told.partition("Labels")[2][:N].ljust(N, "0")
        return Guess(labels=np.array([int(digit == "1") for digit in digits]))


@pytest.fixture(params=["a name", "a way out"])
def channel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ScoreChannel:
    def score(labels: Any, predictions: Any) -> float:
        if np.isin(predictions, [0.125, 0.875]).all():
            named = "Labels" + "".join(map(str, np.asarray(labels, dtype=int)))
            raise type(named, (Exception if request.param == "a name" else SystemExit,), {})
        return float(np.square(np.reshape(predictions, (len(labels), -1))[:, -1] - labels).mean())

    module = types.ModuleType("tellingscorers")
    module.score = score  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tellingscorers", module)
    return ScoreChannel(scorer="tellingscorers:score", queries=1)


def played(channel: ScoreChannel, attack: Listening) -> Any:
    rngs = {"curator_rng": np.random.default_rng(1), "attack_rng": np.random.default_rng(2)}
    return channel.play(Setting(data=DATA, attack=attack), **rngs)


def test_the_name_of_what_was_raised_tells_an_attack_nothing(channel: ScoreChannel) -> None:
    """All 200 labels in one query, where a chance of 2e-40 and 82.9 % on average were certified; now nothing is."""
    assert not theory(BUILDER, "score", channel.threat(Setting(data=DATA))).ceilings
    assert played(channel, Listening()).n_correct == N // 2


def test_whoever_owns_the_scorer_is_told_what_it_raised(channel: ScoreChannel) -> None:
    with pytest.raises(LabelinfError, match=r"scorer .?tellingscorers:score.? raised an exception"):
        played(channel, Listening(catches=False))
