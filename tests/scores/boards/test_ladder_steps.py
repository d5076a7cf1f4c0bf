"""The Ladder of a metric: what improves is seen, and tells a label."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.ladder_descent import LadderDescent
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.scoring import Query

BUILDER = Builder(Host.load())


def made(n_records: int, n_classes: int) -> LabelSet:
    labels = np.random.default_rng(0).integers(0, n_classes, n_records)
    labels[:n_classes] = np.arange(n_classes)
    names = tuple(f"c{k}" for k in range(n_classes))
    return LabelSet(labels=labels, class_names=names, title="made", provenance="made")


def played(channel: str, n_classes: int, *defences: str, n_records: int = 20) -> Outcome:
    board = BUILDER.build(Kind.CHANNEL, channel, "test")
    setting = Setting(
        data=made(n_records, n_classes), attack=LadderDescent(), defences=BUILDER.pipeline(defences, "test")
    )
    assert LadderDescent().unsupported_reason(board.threat(setting)) == ""
    return board.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))


@pytest.mark.parametrize(
    ("channel", "n_classes", "least"),
    [
        ("score(metric=accuracy)", 2, 20),
        ("score(metric=error)", 2, 20),
        ("score(metric=f1)", 2, 20),
        ("score(metric=precision)", 2, 20),
        ("score(metric=recall)", 2, 20),
        ("score(metric=specificity)", 2, 20),
        ("score(metric=mcc)", 2, 18),
        ("score(metric=roc-auc)", 2, 20),
        ("score(metric=average-precision)", 2, 18),
        ("score(metric=ndcg)", 2, 18),
        ("score(metric=d2-log-loss)", 2, 20),
        ("score(loss=squared-euclidean, scorer=float64)", 2, 20),
        ("score(metric=accuracy)", 3, 20),
        ("score(metric=mse)", 3, 20),
        ("score(metric=mae)", 3, 20),
        ("score(metric=r2)", 3, 20),
        ("score(metric=quadratic-kappa)", 3, 16),
        ("score(metric=roc-auc-ovr)", 3, 18),
    ],
)
def test_a_narrow_ladder_gives_the_labels_of_any_metric_away(channel: str, n_classes: int, least: int) -> None:
    """It was said that a Ladder of the least step withstands every known attack on a metric."""
    outcome = played(channel, n_classes, "ladder(step=1e-6)")

    assert outcome.n_correct >= least
    assert outcome.queries <= 1 + 20 * (n_classes - 1)


def test_a_ladder_answers_what_is_better() -> None:
    """Of an accuracy more is better: what had improved was not told."""
    board = ScoreChannel(metric=BUILDER.build(Kind.METRIC, "accuracy", "test"))
    data = made(20, 2)
    setting = Setting(data=data, defences=BUILDER.pipeline(("ladder(step=0.01)",), "test"))
    curator = board.curator(data.labels, board.threat(setting), np.random.default_rng(0))
    told = []
    for wrong in (10, 4, 8, 0):
        rows = data.labels.copy()
        rows[:wrong] = 1 - rows[:wrong]
        told.append(float(curator.answer(Query(predictions=rows))))
    assert told == pytest.approx([0.5, 0.8, 0.8, 1.0])
