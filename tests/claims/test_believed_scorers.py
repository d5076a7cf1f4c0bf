"""A user's function that says what it computes is believed where it answers as it says, and nowhere else."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from sklearn.metrics import log_loss

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InconclusiveError
from labelinf_scores.attacks.prime_blocks import PrimeBlocks
from labelinf_scores.bounds.private_scores import PrivateScores
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.laplace_dp import LaplaceDp
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.effects import Perturbed
from labelinf_scores.game.scoring import ScorerFacts

SAID = ScorerFacts(
    arithmetic="float64", clip=float(np.finfo(np.float64).eps), summation="numpy", input_format="float64"
)


def own(labels: Any, predictions: Any) -> float:
    return float(log_loss(labels, predictions, labels=[0, 1]))


class Turning:
    """Another answer every time."""

    asked = 0

    def __call__(self, labels: Any, predictions: Any) -> float:
        self.asked += 1
        return own(labels, predictions) + 1e-12 * self.asked


LIES: dict[str, Callable[[Any, Any], float]] = {
    "rounded": lambda labels, predictions: round(own(labels, predictions), 5),
    "negated": lambda labels, predictions: -own(labels, predictions),
    "summed": lambda labels, predictions: own(labels, predictions) * len(labels),
    "brier": lambda labels, predictions: float(np.mean((labels - np.asarray(predictions).T[-1]) ** 2)),
    "clipped": lambda labels, predictions: own(labels, np.clip(predictions, 1e-3, 1 - 1e-3)),
    "single": lambda labels, predictions: own(labels, np.asarray(predictions, dtype=np.float32)),
    "subset": lambda labels, predictions: own(labels[-200:], predictions[-200:]),
    "turning": Turning(),
}


def in_pieces(labels: Any, predictions: Any) -> float:
    """The same costs, added up 512 at a time."""
    eps, likely = SAID.clip, np.asarray(predictions)
    likely = np.stack([1 - likely, likely], axis=1) if likely.ndim == 1 else likely
    costs = -np.log(np.clip(likely, eps, 1 - eps)[np.arange(len(labels)), labels])
    return float(sum(costs[start : start + 512].sum() for start in range(0, len(costs), 512)) / len(costs))


FAR: dict[str, Callable[[Any, Any], float]] = {
    "in pieces": in_pieces,
    "the first thousand": lambda labels, predictions: own(labels[:1000], predictions[:1000]),
}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether anything is promised or denied of a function with facts."""

    def ask(function: Callable[[Any, Any], float], said: ScorerFacts = SAID, n: int = 30) -> bool:
        def scorer(labels: Any, predictions: Any) -> float:
            return function(labels, predictions)

        scorer.facts = said  # type: ignore[attr-defined]
        module = types.ModuleType("saidscorers")
        module.scorer = scorer  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "saidscorers", module)
        data = LabelSet(labels=np.arange(n) % 2, class_names=("a", "b"), title="made", provenance="made")
        channel = ScoreChannel(scorer="saidscorers:scorer", queries=30)
        try:
            channel.check(data)
        except InconclusiveError:  # it is no function of labels and predictions, or of a kind that nobody knows
            return False
        promise = PrimeBlocks().promise(channel.threat(Setting(data=data, attack=PrimeBlocks())))
        noisy = Setting(data=data, defences=(Clip(epsilon=0.01), LaplaceDp(epsilon=1, queries=30)))
        denied = PrivateScores().ceilings(channel.threat(noisy))
        assert n > 30 or (promise is not None) == bool(denied)  # of more, it may promise too little
        return bool(denied)

    return ask


def test_who_computes_what_he_says_is_believed(known: Callable[..., bool]) -> None:
    assert known(own)


@pytest.mark.parametrize("name", LIES)
def test_who_computes_something_else_is_unknown(known: Callable[..., bool], name: str) -> None:
    assert not known(LIES[name])


@pytest.mark.parametrize("name", FAR)
def test_what_shows_only_where_there_are_many_records_is_tried_there(known: Callable[..., bool], name: str) -> None:
    assert known(FAR[name], n=300)
    assert not known(FAR[name], n=1500)
    assert known(own, n=1500)


@pytest.mark.parametrize(
    "said",
    [
        attrs.evolve(SAID, effects=(Perturbed(epsilon=0.1),)),
        attrs.evolve(SAID, effects=(Unknown(stage="mine"),)),
        attrs.evolve(SAID, summation="unknown"),
        attrs.evolve(SAID, arithmetic="abacus"),
        attrs.evolve(SAID, clip=0.1),
    ],
    ids=["perturbed", "unknown", "order", "no format", "clip"],
)
def test_what_cannot_be_tried_out_is_not_believed(known: Callable[..., bool], said: ScorerFacts) -> None:
    assert not known(own, said)
