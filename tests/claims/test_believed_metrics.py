"""A metric that says of its scores what is not so is unknown: no promise, no ceiling, no certificate stands on it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.boards import _row
from labelinf_scores.bounds.counting import answer_bits
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings import ScoredMetric, Totals
from labelinf_scores.metrics.readings.counts import F1
from labelinf_scores.metrics.shipped import is_closed
from labelinf_scores.metrics.tried import exposed

BUILDER = Builder(Host.load())


class OtherF1(F1):
    """Says that it is F1; its library's function is the macro average."""

    def library(self, labels: NDArray[np.intp], hard: NDArray[np.float64]) -> float:
        return float(f1_score(labels, hard, average="macro"))


class FewValues(F1):
    """Says that an answer takes two values."""

    def values(self, totals: Totals) -> float:
        return 2.0


class QuietF1(F1):
    """Says that a millionth of noise hides which of two labels is which."""

    def floor(self, totals: Totals) -> float:
        return 0.0

    def enough(self, totals: Totals) -> float:
        return 1e-6


class LoudF1(F1):
    """Says that labels are read through noise that hides them."""

    def floor(self, totals: Totals) -> float:
        return 2.0


def played(metric: ScoredMetric) -> tuple[bool, float, dict[str, object]]:
    """Whether recovery is promised, what one answer can tell in bits, and the evidence."""
    labels = np.random.default_rng(0).integers(0, 2, 60).astype(np.intp)
    data = LabelSet(labels=labels, class_names=("0", "1"), title="t", provenance="made")
    setting = Setting(data=data, attack=BUILDER.build(Kind.ATTACK, "detecting-counts", "test"))
    channel = ScoreChannel(metric=metric, queries=30)
    threat = channel.threat(setting)
    promise = setting.attack.promise(threat)
    outcome = channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))
    return promise is not None and promise.certified, answer_bits(threat), dict(outcome.evidence)


@pytest.mark.long
def test_a_metric_that_says_what_is_so_earns_a_certificate() -> None:
    promised, bits, evidence = played(F1())

    assert promised
    assert bits < 53
    assert evidence["recovery"] == "certified"


@pytest.mark.long
@pytest.mark.parametrize("metric", [OtherF1(), FewValues(), QuietF1(), LoudF1()])
def test_a_metric_that_lies_earns_nothing(metric: ScoredMetric) -> None:
    promised, bits, evidence = played(metric)

    assert not promised
    assert bits >= 53
    assert evidence["recovery"] != "certified"


def test_what_is_wrong_with_the_noise_that_hides_labels_is_said() -> None:
    assert exposed(F1()) == ""
    assert "two labels exchanged moved a score by" in exposed(QuietF1())
    assert "read through more" in exposed(LoudF1())


def test_a_table_of_boards_says_nothing_of_the_noise_that_a_metric_lies_about() -> None:
    attack = BUILDER.build(Kind.ATTACK, "detecting-counts", "test")
    honest, lying = (_row("mine", metric, [("detecting-counts", attack)], 30, 15, 3) for metric in (F1(), QuietF1()))
    assert "never from" in honest.stops
    assert lying.stops == "not known"


@pytest.mark.parametrize("name", ["accuracy", "roc-auc", "mse", "log-loss"])
def test_a_shipped_metric_is_closed(name: str) -> None:
    assert is_closed(BUILDER.build(Kind.METRIC, name, "test"))
