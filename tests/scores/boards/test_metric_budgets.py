"""What is left of an attack on a metric when a budget or a defence cuts it short."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.game.channel import ScoreChannel

BUILDER = Builder(Host.load())


def play(attack: str, metric: str, *defences: str, n_records: int = 200) -> Outcome:
    labels = np.random.default_rng(0).integers(0, 2, n_records).astype(np.intp)
    setting = Setting(
        data=LabelSet(labels=labels, class_names=("0", "1"), title="t", provenance="made"),
        attack=BUILDER.build(Kind.ATTACK, attack, "test"),
        defences=BUILDER.pipeline(defences, "test"),
    )
    channel = ScoreChannel(metric=BUILDER.build(Kind.METRIC, metric, "test"))
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "metric", "queries"),
    [("detecting-counts", "f1", 40), ("spaced-ranks", "roc-auc", 12), ("linear-weights", "mse", 2)],
)
def test_half_of_the_queries_still_break_a_board(attack: str, metric: str, queries: int) -> None:
    """Records that were not read are guessed, and a matrix is cut to what the budget allows; the game ends."""
    outcome = play(attack, metric, f"query-limit(queries={queries})")
    assert outcome.queries <= queries
    assert outcome.guess is not None
    assert set(np.unique(outcome.guess)) <= {0, 1}
    read = int(outcome.evidence["labels decided"])
    assert read >= 40
    assert outcome.n_correct >= read + 0.4 * (outcome.n_records - read)
    assert "contradiction" not in outcome.evidence


@pytest.mark.parametrize("defence", ["minimum-batch", "refuse-constructions"])
def test_a_defence_that_weighs_costs_says_that_a_metric_has_none(defence: str) -> None:
    """It once failed at the first query, which the attack took for an answer that fits no labels: "held so far"."""
    with pytest.raises(InputError, match=r"is worked out for plain means|weighs what every row costs"):
        play("detecting-counts", "f1", defence)
