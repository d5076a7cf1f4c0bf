"""The universal table: from the answers of any metric, whatever it decides is right, and a few it cannot decide."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_papers.attacks.labelling_table import block_row
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import ScoredMetric

BUILDER = Builder(Host.load())
NAMES = sorted(item.descriptor.name for item in Host.load().catalogue(Kind.METRIC))
ALL = {"average-precision", "mse", "ndcg", "r2", "rmse", "roc-auc", "roc-auc-ovr"}
MEANS = {"brier", "log-loss", "mean-loss"}  # are played as losses


def metric(name: str) -> ScoredMetric:
    built: ScoredMetric = BUILDER.build(Kind.METRIC, name, "test")
    return built


def play(name: str, labels: np.ndarray, classes: int, *defences: str) -> Outcome:
    data = LabelSet(
        labels=labels, class_names=tuple(map(str, range(classes))), title="t", provenance="made",
    )  # fmt: skip
    attack = BUILDER.build(Kind.ATTACK, "labelling-table", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    channel = ScoreChannel(metric=metric(name), queries=25)
    assert attack.unsupported_reason(channel.threat(setting)) == ""
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))


QUICK = {"average-precision", "roc-auc-ovr", "roc-auc-ovo", "accuracy", "rmse", "reciprocal-rank", "linear-kappa"}
CASES = [
    pytest.param(name, k, marks=() if name in QUICK else pytest.mark.slow)
    for name in sorted(set(NAMES) - MEANS)
    for k in (2, 3)
    if k == 2 or not metric(name).of_classes(k).two_classes
]


@pytest.mark.parametrize(("name", "classes"), CASES)
def test_any_metric_is_read_and_what_is_decided_is_right(name: str, classes: int) -> None:
    labels = np.random.default_rng(0).permutation(np.arange(10) % classes)
    for defences in ((), ("round(decimals=3)",)):
        outcome = play(name, labels, classes, *defences)
        assert "contradiction" not in outcome.evidence
        assert outcome.n_correct >= outcome.evidence["labels decided"]
        if not defences and name in ALL:
            assert outcome.n_correct == 10


@pytest.mark.parametrize("name", NAMES)
def test_whose_label_is_which_among_the_others_does_not_matter(name: str) -> None:
    """All others share one prediction: the score of the library itself stays but for the last bits."""
    scored, rng = metric(name), np.random.default_rng(0)
    for classes in (2, 3):
        own = scored.of_classes(classes)
        if own.two_classes and classes > 2:
            continue
        asked, rest = np.array([3, 7, 8]), np.setdiff1d(np.arange(20), [3, 7, 8])
        row, labels = block_row(own, asked, 20, classes, rng), np.arange(20) % classes
        first = own.score(labels, row)
        for _ in range(5):
            labels[rest] = rng.permutation(labels[rest])
            assert own.score(labels, row) == pytest.approx(first, abs=1e-12)
