"""The hybrid: the queries it must not exceed, every labelling of small sets, and what it does when answers fail."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import QueriesExhaustedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.certificates.interval import UnitReading
from labelinf_scores.certificates.summation import to_fixed, to_float
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, ScoreEffect
from labelinf_scores.game.oracle import ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.plans.hybrid_group import Group, HybridQuery, Weighing

ATTACK = Hybrid()
UNIT = to_fixed(0.5)
RNG = np.random.default_rng(0)  # the attack draws nothing


@attrs.frozen(kw_only=True)
class Extreme(ScoreDefence):
    """Moves every score by exactly ``tau``, up or down at random."""

    tau: float

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=self.tau, std=self.tau),)

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Moving(self.tau, rng)


class _Moving(ActiveScoreDefence):
    def __init__(self, tau: float, rng: np.random.Generator) -> None:
        self.tau, self.rng = tau, rng

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        return ask(labels, query) + float(self.rng.choice([-1, 1])) * self.tau


def game(
    labels: Any, *defences: ScoreDefence, scorer: str = "sklearn", loss: AdditiveLoss | None = None, queries: int = 0
) -> tuple[ScoreChannel, Setting]:
    data = LabelSet(labels=np.asarray(labels), class_names=("a", "b"), title="made", provenance="made")
    channel = ScoreChannel(loss=loss or LogLoss(), scorer=scorer, queries=queries)
    return channel, Setting(data=data, attack=ATTACK, defences=defences)


def made(n: int) -> Any:
    return np.random.default_rng(5).permutation(np.arange(n) % 3 == 0).astype(int)


def promise_of(threat: ScoreThreat) -> Promise:
    promise = ATTACK.promise(threat)
    assert promise is not None
    return promise


def play(channel: ScoreChannel, setting: Setting) -> Outcome:
    rngs = np.random.default_rng(1).spawn(2)
    return channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])


def small_group() -> Group:
    """Two queries that share three detected records and have two private ones each: seven records."""
    queries = []
    for row in range(2):
        weighing = Weighing(row=row, private=slice(3 + 2 * row, 5 + 2 * row), weights=(1, 2), unit=UNIT)
        reading = UnitReading.of(-UNIT // 3, UNIT // 3, n_records=7, unit=UNIT, margin=UNIT)
        queries.append(HybridQuery(weighing=weighing, reading=reading))
    return Group(detected=slice(0, 3), n_rows=2, queries=tuple(queries))


def sums_of(group: Group, labels: Any) -> list[int]:
    """What every query adds up to, in units: rows of sign -1 charge label 0."""
    sums = []
    for query in group.queries:
        signs, detected = group.signs(query.weighing), labels[group.detected]
        weighed = int((signs == 1) @ detected + (signs == -1) @ (1 - detected))
        private = int(np.array(query.weighing.weights) @ labels[query.weighing.private])
        sums.append(private + query.weighing.modulus * weighed)
    return sums


def test_a_group_decodes_like_a_search_over_all_labellings() -> None:
    """128 labellings, each sum moved by up to a third of a unit."""
    group, rng = small_group(), np.random.default_rng(0)
    every = np.array(list(itertools.product((0, 1), repeat=7)))
    table = np.array([sums_of(group, labels) for labels in every])
    assert len(np.unique(table, axis=0)) == len(every)
    for labels, sums in zip(every, table, strict=True):
        noisy = sums + rng.uniform(-1 / 3, 1 / 3, 2)
        nearest = every[np.abs(table - noisy).max(axis=1).argmin()]
        decoded = [
            query.decode(total * to_float(UNIT) / 7) for query, total in zip(group.queries, noisy.tolist(), strict=True)
        ]
        found = np.concatenate(
            [group.detect([weighed for _, weighed in decoded]), *(private for private, _ in decoded)]
        )
        assert np.array_equal(found, nearest)
        assert np.array_equal(found, labels)


def test_a_private_bit_never_leaks_into_the_weighing() -> None:
    """All private labels 1 is one unit less than the modulus."""
    query = small_group().queries[0]
    private, weighed = query.decode(3 * to_float(UNIT) / 7)
    assert (private.tolist(), weighed) == ([1, 1], 0)
    private, weighed = query.decode(4 * to_float(UNIT) / 7)
    assert (private.tolist(), weighed) == ([0, 0], 1)


@pytest.mark.parametrize(
    ("n", "defence", "scorer"),
    [
        pytest.param(9, RoundScore(decimals=2), "sklearn", marks=pytest.mark.slow),
        (10, RoundScore(decimals=3), "float32"),
        (8, Clip(epsilon=0.01), "bfloat16"),
    ],
    ids=str,
)
def test_groups_through_a_curator_decode_like_a_search(n: int, defence: ScoreDefence, scorer: str) -> None:
    """Every labelling of a few records: an exhaustive search over the curator's own answers finds the same labels."""
    channel, setting = game(np.arange(n) % 2, defence, scorer=scorer)
    threat = channel.threat(setting)
    planner = next(ATTACK.planners(threat))
    queries = [(group, query) for group in planner.groups() for query in group.queries]
    sent = [planner.predictions(group, query.weighing) for group, query in queries]
    every = np.array(list(itertools.product((0, 1), repeat=n)))
    curators = [channel.curator(labels, threat, RNG) for labels in every]
    answers = np.array([[curator.answer(Query(predictions=each)) for each in sent] for curator in curators])
    assert len(np.unique(answers, axis=0)) == len(every)
    for labels, scores in zip(every, answers, strict=True):
        found = np.full(n, -1)
        weighed: dict[int, list[int]] = {}
        for (group, query), score in zip(queries, scores, strict=True):
            found[query.weighing.private], answer = query.decode(score)
            weighed.setdefault(group.detected.start, []).append(answer)
            if len(weighed[group.detected.start]) == len(group.queries):
                found[group.detected] = group.detect(weighed[group.detected.start])
        assert np.array_equal(found, labels)


@pytest.mark.parametrize(
    ("n", "decimals", "queries"),
    [(306, 4, 24), (306, 5, 20), *(pytest.param(2201, *case, marks=pytest.mark.slow) for case in ((4, 190), (5, 153)))],
)
def test_all_labels_come_out_of_rounded_scores(n: int, decimals: int, queries: int) -> None:
    channel, setting = game(made(n), RoundScore(decimals=decimals))
    outcome = play(channel, setting)
    assert outcome.n_correct == n
    assert outcome.queries <= queries
    assert promise_of(channel.threat(setting)).certified


@pytest.mark.parametrize("scorer", ["float64", pytest.param("sklearn", marks=pytest.mark.slow)])
def test_every_labelling_comes_out_of_the_worst_noise(scorer: str) -> None:
    """Eight records: 256 labellings, every score moved by the largest noise that is still certified, up or down."""
    labels = np.array([0, 1] * 4)
    channel, setting = game(labels, Clip(epsilon=1e-6), Extreme(tau=0.05), scorer=scorer)
    threat = channel.threat(setting)
    assert promise_of(threat).certified
    for truth in map(np.array, itertools.product((0, 1), repeat=8)):
        oracle = ScoreOracle(threat, channel.curator(truth, threat, np.random.default_rng(7)).answer)
        assert np.array_equal(ATTACK.run(oracle, RNG).labels, truth)


@pytest.mark.parametrize(
    ("loss", "scorer"),
    [
        (SquaredEuclidean(), "float64"),
        (ItakuraSaito(), "float64"),
        (NormLike(alpha=3), "float64"),
        (LogLoss(), "float32"),
        (LogLoss(), "sklearn:float32"),
        (LogLoss(), "sklearn"),
        (LogLoss(), "exact"),
    ],
    ids=str,
)
def test_losses_and_formats_are_served(loss: AdditiveLoss, scorer: str) -> None:
    channel, setting = game(made(60), Clip(epsilon=1e-4), loss=loss, scorer=scorer)
    assert ATTACK.unsupported_reason(channel.threat(setting)) == ""
    assert promise_of(channel.threat(setting)).certified
    assert play(channel, setting).n_correct == 60


def test_a_budget_that_ends_early_leaves_the_majority_guess() -> None:
    channel, setting = game(made(306), RoundScore(decimals=4))
    threat = channel.threat(setting)

    def answer(query: Query) -> Any:
        raise QueriesExhaustedError("spent")

    assert not ATTACK.run(ScoreOracle(threat, answer), RNG).labels.any()
    channel, setting = game(made(306), RoundScore(decimals=4), queries=9)
    outcome = play(channel, setting)
    assert outcome.queries == 9
    assert outcome.n_correct > 9 * 9 + (306 - 9 * 9) * 0.6
    assert not promise_of(channel.threat(setting)).certified


@pytest.mark.slow
def test_the_widest_weight_is_shared_where_only_float64_stands_between() -> None:
    """25 000 labels: powers of two stop at 44 a query; 32 queries that share the widest weight are proved for more."""
    channel, setting = game(made(25_000))
    group = next(next(ATTACK.planners(channel.threat(setting))).groups())
    assert all(query.reading.is_certain for query in group.queries)
    assert group.stop / len(group.queries) > 46


def test_scores_too_coarse_for_one_label_are_refused() -> None:
    channel, setting = game(made(2201), RoundScore(decimals=1))
    assert "not one label" in ATTACK.unsupported_reason(channel.threat(setting))
