"""Ranks at random places: what is written down is certain, however the scores are rounded, and marks are beaten."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_data.bundled import load_bunch
from labelinf_scores.attacks import ranked_list
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.metrics.readings.ranks import RocAuc

BUILDER = Builder(Host.load())


def play(labels: list[int], *defences: str, seed: int = 1, metric: RocAuc | None = None, **game: object) -> Outcome:
    channel = ScoreChannel(metric=metric or RocAuc(), **game)
    data = LabelSet(labels=np.array(labels, dtype=np.intp), class_names=("0", "1"), title="t", provenance="made")
    attack = BUILDER.build(Kind.ATTACK, "spaced-ranks", "test")
    setting = Setting(data=data, attack=attack, defences=BUILDER.pipeline(defences, "test"))
    assert attack.unsupported_reason(channel.threat(setting)) == ""
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def cancer() -> list[int]:
    return [int(label) for label in load_bunch("breast-cancer").target]


@pytest.mark.long
@pytest.mark.parametrize(("decimals", "mark"), [(None, 50), (5, 54), (4, 76), (3, 125)])
def test_the_auc_is_read_in_fewer_queries_than_the_marks(decimals: int | None, mark: int, cancer: list[int]) -> None:
    outcome = play(cancer, *(() if decimals is None else (f"round(decimals={decimals})",)))
    assert outcome.n_correct == 569
    assert outcome.queries <= mark
    assert outcome.evidence["recovery"] == "certified"


@pytest.mark.long
def test_two_decimals_do_not_protect_the_auc(cancer: list[int]) -> None:
    """No single record stands out there; what several tell together is kept until it is certain."""
    outcome = play(cancer[:200], "round(decimals=2)")
    assert (outcome.n_correct, outcome.evidence["labels decided"]) == (200, 200)
    assert outcome.queries < 120


@pytest.mark.long
def test_batches_beside_the_list_are_decoded() -> None:
    labels = [int(label) for label in np.random.default_rng(0).random(2000) < 0.4]
    outcome = play(labels)
    assert outcome.n_correct == 2000
    assert outcome.queries < 150


@pytest.mark.long
@given(
    st.lists(st.integers(0, 1), min_size=2, max_size=40),
    st.sampled_from([None, 5, 3, 2]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=80)
def test_whatever_the_labels_and_places_what_is_decided_is_right(
    labels: list[int], decimals: int | None, seed: int
) -> None:
    if len(set(labels)) < 2:
        return
    defences = () if decimals is None else (f"round(decimals={decimals})",)
    outcome = play(labels, *defences, seed=seed)
    assert "contradiction" not in outcome.evidence
    assert outcome.n_correct >= outcome.evidence["labels decided"]
    if outcome.evidence["recovery"] == "certified":
        assert outcome.n_correct == len(labels)


def test_no_labelling_that_fits_is_ever_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true labels of the records on the list are among its labellings after every answer, in every small game."""
    seen = 0

    def checked(self: ranked_list.RankedList) -> None:
        nonlocal seen
        options = set(map(tuple, self.options.tolist()))
        assert any(tuple(y[self.records]) in options for y in orders)
        seen += 1
        settle(self)

    settle = ranked_list.RankedList._settle
    monkeypatch.setattr(ranked_list.RankedList, "_settle", checked)
    for labels, defence in itertools.product(([0, 1] * 6, [1] + [0] * 9), ((), ("round(decimals=2)",))):
        order = np.random.default_rng(0).permutation(len(labels))  # as the game orders them
        orders = [np.array(labels)[order]]
        play(labels, *defence)
    assert seen > 4


def test_a_record_alone_ends_what_a_list_does_not(monkeypatch: pytest.MonkeyPatch, cancer: list[int]) -> None:
    """With places that tell next to nothing every label still comes out, one at a time."""
    monkeypatch.setattr(ranked_list.RankedList, "_side", lambda self, n_asked, n_known: np.ones(n_asked + n_known))
    outcome = play(cancer[:30])
    assert outcome.n_correct == 30
    assert "contradiction" not in outcome.evidence


def test_a_host_that_scores_otherwise_is_never_certified(cancer: list[int]) -> None:
    @attrs.frozen(kw_only=True)
    class Shifted(RocAuc):
        def score(self, labels: np.ndarray, predictions: np.ndarray) -> float:
            return super().score(labels, predictions) + 1e-5 * (len(np.unique(predictions)) > 5)

    outcome = play(cancer[:60], metric=Shifted())
    assert outcome.evidence["recovery"] != "certified"


def test_a_budget_that_ends_is_spent_on_the_plan_that_is_certain(cancer: list[int]) -> None:
    assert play(cancer[:100], queries=14).evidence["recovery"] == "certified"
    few = play(cancer[:100], queries=13)
    assert few.n_correct >= few.evidence["labels decided"]
    assert few.evidence["recovery"] != "certified"
