"""The attack in its game: it runs the board with its defences on made labels, and sees no label or draw of a host's."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import labelinf as li
from labelinf_core.contracts.components import Guess, LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.simulate import Simulate
from labelinf_scores.audit.certificate import AuditedBoard
from labelinf_scores.audit.scorer import audit_scorer
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.likeness import likeness
from labelinf_scores.game.oracle import ScoreOracle

BUILDER = Builder(Host.load())
LABELS = (np.random.default_rng(4).random(40) < 0.4).astype(int)


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "defence"),
    [
        ("roc-auc", "none"),
        ("roc-auc", "round(decimals=4)"),
        ("f1", "none"),
        ("mse", "none"),
        ("accuracy", "round(decimals=2)"),
    ],
)
def test_it_reads_a_board_behind_its_defences(metric: str, defence: str) -> None:
    found = li.matrix(LABELS, metric=metric, attacks=["simulate"], defences=[defence], queries=120, trials=1)

    assert next(iter(found.rows()))["accuracy"] == 1.0


@pytest.mark.long
def test_it_reads_a_board_that_draws() -> None:
    found = li.matrix(
        LABELS,
        metric="accuracy",
        attacks=["simulate"],
        defences=["score-noise(model=gaussian(scale=0.01))"],
        queries=100,
        trials=1,
    )

    assert next(iter(found.rows()))["accuracy"] > 0.95


def played(attack: Any, *defences: str) -> Guess:
    names = ("a", "b")
    data = LabelSet(labels=LABELS, class_names=names, title="made", provenance="made")
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "accuracy", "test"), queries=100)
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))
    return attack.kept[0]


@attrs.frozen(kw_only=True)
class Looking(Simulate):
    """Asks the simulation and the host the same, and keeps both."""

    kept: list[Any] = attrs.field(factory=list)

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        made, rows = np.ones(40, dtype=np.intp), np.ones(40)
        shown = [float(oracle.simulated(made, rows, np.random.default_rng(seed))) for seed in range(8)]
        self.kept.append((shown, float(oracle.query(rows)), oracle.spent))
        return Guess(labels=made)


def test_what_is_simulated_is_about_made_labels_and_costs_no_query() -> None:
    shown, told, spent = played(Looking())

    assert shown == [1.0] * 8
    assert told == pytest.approx(LABELS.mean())
    assert spent == 1


def test_draws_of_a_defence_are_drawn_anew() -> None:
    shown, told, _ = played(Looking(), "score-noise(model=gaussian(scale=0.1))")

    assert len(set(shown)) == 8
    assert told not in shown


@pytest.mark.long
def test_what_counts_decisions_is_sent_classes_where_it_was_recognised() -> None:
    """Rows between 0 and 1 were cut to 0, so that no answer told anything."""
    data = LabelSet(labels=LABELS, class_names=("0", "1"), title="made", provenance="made")
    board = AuditedBoard(scorer="sklearn", metric=BUILDER.build(Kind.METRIC, "recall", "test"))
    found = likeness(board.computed(data), data, "a scorer")

    (leak,) = audit_scorer(
        found, data, builder=BUILDER, attacks=["simulate"], queries=200, rng=np.random.default_rng(1)
    )

    assert found.name == "recall"
    assert leak.exact
