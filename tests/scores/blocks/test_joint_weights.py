"""Answers read together and replayed: every labelling of small sets, marks, and what must not be claimed."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.effects import Unknown
from labelinf_scores.attacks.joint_weights import JointWeights, _Game
from labelinf_scores.certificates.row_costs import possible_costs
from labelinf_scores.certificates.summation import to_fixed
from labelinf_scores.decoders.explanations import ContradictionError, Explanations
from labelinf_scores.decoders.subset_sums import subsets_between
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.effects import ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.plans.joint_plan import JointPlanner

ROWS = pytest.mark.parametrize("proper", [True, False], ids=["proper rows", "free rows"])
DEAR_ROWS = pytest.mark.parametrize(
    "proper", [pytest.param(True, marks=pytest.mark.slow), False], ids=["proper rows", "free rows"]
)


def setting(labels: Any, proper: bool, *defences: ScoreDefence) -> Setting:
    data = LabelSet(labels=np.asarray(labels), class_names=("a", "b"), title="made", provenance="made")
    return Setting(data=data, attack=JointWeights(proper=proper), defences=defences)


def play(
    labels: Any, proper: bool, *defences: ScoreDefence, queries: int = 0, channel: ScoreChannel | None = None
) -> Outcome:
    channel = channel or ScoreChannel(loss=LogLoss(), queries=queries)
    rngs = [np.random.default_rng(seed) for seed in (0, 1)]
    return channel.play(setting(labels, proper, *defences), curator_rng=rngs[0], attack_rng=rngs[1])


def threat_of(n: int, proper: bool = True, *defences: ScoreDefence, **channel: Any) -> ScoreThreat:
    made: ScoreThreat = ScoreChannel(**{"loss": LogLoss(), **channel}).threat(
        setting(np.arange(n) % 2, proper, *defences)
    )
    return made


@settings(max_examples=40)
@given(st.lists(st.integers(0, 60), max_size=8), st.integers(-5, 300), st.integers(0, 40))
def test_the_subsets_of_a_window_are_those_that_a_search_finds(weights: list[int], low: int, width: int) -> None:
    weights = sorted(weights)
    found = {tuple(row) for row in subsets_between(weights, low, low + width).tolist()}
    everything = itertools.product((0, 1), repeat=len(weights))
    assert found == {bits for bits in everything if low <= np.dot(bits, weights) <= low + width}


@settings(max_examples=40)
@given(st.integers(0, 2**20), st.integers(1, 6), st.integers(1, 5))
def test_asking_pivots_leaves_the_truth_alone(seed: int, n_options: int, size: int) -> None:
    """Whatever the labellings that explain an answer: pivots end, each splits them, and the truth is written down."""
    rng = np.random.default_rng(seed)
    options = np.unique(rng.integers(0, 2, (n_options, size), dtype=np.int8), axis=0)
    truth, labels = options[rng.integers(len(options))], np.full(size, -1)
    told = Explanations(records=np.arange(size), options=options).settle(labels)
    while told.records.size:
        before = len(told.options)
        labels[told.pivot] = truth[told.pivot]
        told = told.settle(labels)
        assert len(told.options) < before
    assert labels.tolist() == truth.tolist()


@ROWS
def test_every_labelling_of_a_small_set_is_recovered(proper: bool) -> None:
    for labels in itertools.product((0, 1), repeat=4):
        if 0 < sum(labels) < 4:
            assert play(labels, proper).n_correct == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "proper", "at_most"),
    [pytest.param(569, True, 13, marks=pytest.mark.slow), (569, False, 12), (2201, False, 43)],
)
def test_it_takes_no_more_queries_than_it_did(n: int, proper: bool, at_most: int) -> None:
    """Of free rows, no proof beforehand reads more than 52 labels a query; one query more verifies."""
    outcome = play(np.random.default_rng(n).integers(0, 2, n), proper)
    assert outcome.n_correct == n
    assert outcome.queries <= at_most
    assert "certified" in outcome.evidence["recovery"]


@DEAR_ROWS
def test_behind_a_clip_it_still_recovers_all(proper: bool) -> None:
    assert play(np.random.default_rng(3).integers(0, 2, 400), proper, Clip(epsilon=0.01)).n_correct == 400


@ROWS
@pytest.mark.parametrize("n", [10, 1000, 25_000])
def test_a_safe_query_is_read_right_whatever_the_labels(n: int, proper: bool) -> None:
    """Every gap exceeds all narrower ones together by twice the error of the largest sum, so one labelling fits."""
    planner = JointPlanner(threat=threat_of(n, proper), proper=proper)
    rows = planner.gaps(planner.safe(n)).rows
    largest = n * planner.rows.neutral.high[0] + sum(row.high[1] for row in rows)
    below = 0
    for row in rows:
        assert row.low[1] - row.high[0] > below + 2 * planner.error(largest)
        below += row.high[1] - row.low[0]


@pytest.mark.slow
def test_where_nothing_is_dared_all_labels_come_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The road that is taken once a group has told too little."""
    monkeypatch.setattr("labelinf_scores.attacks.joint_weights._FEWEST", 2.0)
    assert play(np.random.default_rng(8).integers(0, 2, 120), True).n_correct == 120


@attrs.frozen(kw_only=True)
class Shifted(ScoreDefence):
    """Moves every score, and does not say by how much, or not even that it does."""

    by: float
    honest: bool = False

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Unknown(stage="mine"),) if self.honest else ()  # type: ignore[return-value]

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        shift = self.by

        class Moving(ActiveScoreDefence):
            def answer(self, labels: Any, query: Query, ask: Any) -> Any:
                return ask(labels, query) + shift

        return Moving()


@pytest.mark.parametrize(("proper", "by"), [(True, 1e-9), (False, 1e-9), (False, np.inf)])
def test_answers_that_no_labels_explain_are_a_contradiction_and_no_certificate(proper: bool, by: float) -> None:
    outcome = play(np.arange(20) % 2, proper, Shifted(by=by))
    assert "contradiction" in outcome.evidence
    assert outcome.evidence["recovery"] == "heuristic"


@attrs.frozen(kw_only=True)
class FirstUp(ScoreDefence):
    """Moves its first score by one last place, and says nothing of it."""

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return ()

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        class Moving(ActiveScoreDefence):
            moved = False

            def answer(self, labels: Any, query: Query, ask: Any) -> Any:
                score, moved, self.moved = ask(labels, query), self.moved, True
                return score if moved else float(np.nextafter(score, np.inf))

        return Moving()


@pytest.mark.parametrize(("n", "seed"), [(52, 9), (104, 6), (256, 1)])
def test_wrong_labels_that_explain_an_answer_moved_by_one_last_place_are_not_certified(n: int, seed: int) -> None:
    """They were, with 48 of 52, 101 of 104 and 252 of 256 right: the query that verifies tells."""
    outcome = play(np.random.default_rng(seed).integers(0, 2, n), False, FirstUp())
    assert outcome.evidence["labels decided"] == n
    assert outcome.n_correct < n
    assert outcome.evidence["recovery"] == "heuristic"
    assert "is not that of the labels" in outcome.evidence["not verified"]
    assert "contradiction" not in outcome.evidence


@pytest.mark.parametrize(
    ("n", "proper"), [(4, True), pytest.param(30, True, marks=pytest.mark.slow), (30, False), (300, False)]
)
def test_the_query_that_verifies_tells_labels_that_swap(monkeypatch: pytest.MonkeyPatch, n: int, proper: bool) -> None:
    """Be it one label, or as many of either class: the number of positives stays."""
    honest = _Game.play
    for per_class in ((0, 0), (1, 0), (1, 1), (2, 2)):

        def swapped(game: Any, per_class: tuple[int, int] = per_class) -> None:
            honest(game)
            places = [np.flatnonzero(game.labels == label)[:count] for label, count in enumerate(per_class)]
            game.labels[np.concatenate(places)] ^= 1

        monkeypatch.setattr("labelinf_scores.attacks.joint_weights._Game.play", swapped)
        outcome = play(np.arange(n) % 2, proper)
        assert outcome.n_correct == n - sum(per_class)
        assert ("certified" in outcome.evidence["recovery"]) == (outcome.n_correct == n)
        assert ("not verified" in outcome.evidence) == (outcome.n_correct < n)


@DEAR_ROWS
def test_without_a_query_left_to_verify_nothing_is_certified_nor_contradicted(proper: bool) -> None:
    labels = np.random.default_rng(4).integers(0, 2, 60)
    spent = play(labels, proper).queries
    outcome = play(labels, proper, queries=spent - 1)
    assert outcome.n_correct == 60
    assert outcome.evidence["recovery"] == "heuristic"
    assert "no query was left" in outcome.evidence["not verified"]
    assert "contradiction" not in outcome.evidence


def test_a_clip_that_leaves_no_gaps_to_draw_is_no_reason_to_certify() -> None:
    outcome = play(np.random.default_rng(4).integers(0, 2, 20), True, Clip(epsilon=0.5 - 2.0**-37))
    assert outcome.evidence["recovery"] == "heuristic"
    assert "clip" in outcome.evidence["not verified"]


def test_a_contradiction_that_comes_once_all_labels_are_written_down_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def written_then_contradicted(game: Any) -> None:
        game.labels[:] = 0
        raise ContradictionError

    monkeypatch.setattr("labelinf_scores.attacks.joint_weights._Game.play", written_then_contradicted)
    evidence = play([0, 1, 0, 1], True).evidence
    assert evidence["recovery"] == "heuristic"
    assert "contradiction" in evidence


@ROWS
def test_behind_a_stage_that_does_not_say_what_it_does_nothing_is_certified(proper: bool) -> None:
    """Even where it does nothing, and all labels come out."""
    outcome = play(np.arange(20) % 2, proper, Shifted(by=0.0, honest=True))
    assert outcome.n_correct == 20
    assert outcome.evidence["recovery"] == "heuristic"


def test_where_numpy_adds_in_another_order_nothing_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labelinf_scores.attacks.joint_weights.adds_pairwise", lambda *_: False)
    assert play(np.arange(20) % 2, True).evidence["recovery"] == "heuristic"


@pytest.mark.long
@ROWS
def test_a_budget_that_ends_early_leaves_the_rest_undecided_and_contradicts_nothing(proper: bool) -> None:
    outcome = play(np.random.default_rng(1).integers(0, 2, 100), proper, queries=1)
    assert 40 <= outcome.evidence["labels decided"] < 100
    assert "not verified" not in outcome.evidence
    assert outcome.evidence["recovery"] == "decided where one labelling fits"
    assert "contradiction" not in outcome.evidence


@pytest.mark.parametrize(
    ("defences", "channel", "clause"),
    [
        ((RoundScore(decimals=5),), {}, "needs scores as the scorer computes them"),
        ((), {"scorer": "float32"}, "float64"),
        ((), {"scorer": "exact"}, "float64"),
        ((Clip(epsilon=0.5 - 2.0**-45),), {}, "stands out from the error"),
        ((), {"loss": SquaredEuclidean(), "scorer": "float64"}, "needs the log-loss"),
    ],
)
def test_it_refuses_what_it_cannot_replay(defences: Any, channel: dict[str, Any], clause: str) -> None:
    assert clause in JointWeights().unsupported_reason(threat_of(50, True, *defences, **channel))


def test_it_promises_only_what_the_worst_labels_leave_within_the_budget() -> None:
    assert JointWeights().promise(threat_of(100)).certified  # type: ignore[union-attr]
    assert JointWeights().promise(threat_of(100, queries=300 + 1024 + 1)).certified  # type: ignore[union-attr]
    assert not JointWeights().promise(threat_of(100, queries=300 + 1024)).certified  # type: ignore[union-attr]


@pytest.mark.slow
def test_rows_nearly_double_and_their_costs_are_what_the_logarithm_can_be() -> None:
    planner = JointPlanner(threat=threat_of(2000))
    size = planner.best(2000, 1024)
    for rows in (variant.rows for variant in planner.variants(size)[::5]):
        below = 0
        for row in rows:
            gap = row.low[1] - row.low[0]
            assert gap > below - to_fixed(size.unit) / 4
            below += gap
            for p, low, high in zip(row.prediction, row.low, row.high, strict=True):
                assert (low, high) == possible_costs(float(p), 53, 0.75)
        assert rows[-1].low == rows[-1].high
