"""Certificates against adversarial labellings, through the curators themselves; and what happens without one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_papers.attacks.detecting_matrix import DetectingMatrix
from labelinf_scores.attacks.adaptive_weights import AdaptiveWeights
from labelinf_scores.attacks.binary_weights import BinaryWeights
from labelinf_scores.attacks.block_attack import BlockAttack
from labelinf_scores.attacks.conway_guy import ConwayGuyWeights
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.attacks.mixed_radix import MixedRadix
from labelinf_scores.attacks.unnormalised_weights import UnnormalisedWeights
from labelinf_scores.certificates.interval import certify_in_order
from labelinf_scores.certificates.summation import to_fixed
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.row_sums import EnforceRowSums
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Query, ScoreDefence
from labelinf_scores.game.effects import Hidden, Moved, Perturbed, Reordered, RowSums, Sampled
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.additive import AdditiveLoss
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean
from labelinf_scores.plans.block_plan import Block, BlockPlanner

Answer = Callable[[np.ndarray, np.ndarray], Any]


@attrs.frozen(kw_only=True)
class Game:
    """One block of one attack on one curator."""

    attack: BlockAttack
    n: int
    n_classes: int = 2
    scorer: str = "sklearn"
    defences: tuple[ScoreDefence, ...] = ()
    loss: AdditiveLoss = attrs.field(factory=LogLoss)
    block: int = 0

    def __str__(self) -> str:
        defences = "".join(f", {type(defence).__name__}" for defence in self.defences)
        return f"{type(self.attack).__name__}, {type(self.loss).__name__}, {self.scorer}, N={self.n}{defences}"


GAMES = [
    Game(attack=BinaryWeights(), n=306),
    Game(attack=BinaryWeights(), n=2201, block=30),
    Game(attack=BinaryWeights(), n=569, scorer="float32", block=3),
    Game(attack=BinaryWeights(), n=306, scorer="sklearn.metrics:log_loss"),
    Game(attack=BinaryWeights(), n=306, scorer="fpa:53"),
    Game(attack=BinaryWeights(), n=306, defences=(Clip(epsilon=0.01),), block=2),
    Game(attack=BinaryWeights(), n=306, scorer="float64", loss=SquaredEuclidean()),
    Game(attack=UnnormalisedWeights(), n=569, n_classes=4),
    Game(attack=ConwayGuyWeights(), n=2201, defences=(RoundScore(decimals=4),)),
    Game(attack=MixedRadix(), n=800, n_classes=10, defences=(EnforceRowSums(),)),
    Game(attack=AdaptiveWeights(), n=569, block=7),
    Game(attack=BinaryWeights(), n=120, scorer="float16", block=3),
    Game(attack=BinaryWeights(), n=90, scorer="bfloat16", block=2),
    Game(attack=MixedRadix(), n=60, n_classes=10, scorer="float16", defences=(EnforceRowSums(action="reject"),)),
]
MORE_GAMES = [
    Game(attack=AdaptiveWeights(), n=569, n_classes=3, scorer="float32", block=20),
    Game(attack=UnnormalisedWeights(), n=306, block=4),
    Game(attack=BinaryWeights(), n=569, scorer="sklearn:float32", block=1),
    Game(attack=BinaryWeights(), n=1372, block=9),
    Game(attack=BinaryWeights(), n=306, scorer="float64"),
    Game(attack=BinaryWeights(), n=2201, defences=(RoundScore(decimals=5),)),
    Game(attack=BinaryWeights(), n=306, scorer="float64", loss=ItakuraSaito()),
    Game(attack=BinaryWeights(), n=306, scorer="float64", loss=SigmoidLogLoss()),
    Game(attack=UnnormalisedWeights(), n=1372, block=11),
    Game(attack=UnnormalisedWeights(), n=569, scorer="float32"),
    Game(attack=ConwayGuyWeights(), n=6000, block=5),
    Game(attack=MixedRadix(), n=6430, n_classes=6, block=100),
    Game(attack=MixedRadix(), n=800, n_classes=3, scorer="float32"),
    Game(attack=AdaptiveWeights(), n=2201, defences=(Clip(epsilon=0.01), RoundScore(decimals=9)), block=30),
    Game(attack=AdaptiveWeights(), n=1372, scorer="float32", block=40),
    Game(attack=ConwayGuyWeights(), n=150, scorer="float16", block=2),
    Game(attack=BinaryWeights(), n=90, scorer="float16", loss=ItakuraSaito(), block=1),
    Game(attack=MixedRadix(), n=40, n_classes=3, scorer="bfloat16", defences=(Clip(epsilon=0.01),), block=1),
]
SMALL = Game(attack=BinaryWeights(), n=12)
EVERY_GAME = [*GAMES, *(pytest.param(game, marks=pytest.mark.slow) for game in MORE_GAMES)]


@functools.cache
def staged(game: Game) -> tuple[ScoreThreat, BlockPlanner, Block, Answer]:
    labels = np.arange(game.n) % game.n_classes
    data = LabelSet(labels=labels, class_names=tuple("abcdefghij"[: game.n_classes]), title="x", provenance="made")
    channel = ScoreChannel(loss=game.loss, scorer=game.scorer)
    threat = channel.threat(Setting(data=data, attack=game.attack, defences=game.defences))
    threat = attrs.evolve(threat, own_effects=())  # as though a function had declared what is supposed of it
    planner = game.attack.planner(threat)
    block = next(block for place, block in enumerate(planner.blocks()) if place == game.block)

    def answer(labels: np.ndarray, predictions: np.ndarray) -> Any:
        oracle = channel.curator(labels, threat, np.random.default_rng(0))
        return oracle.answer(Query(predictions=predictions, precision=256))

    return threat, planner, block, answer


def query(planner: BlockPlanner, block: Block, labels: np.ndarray) -> np.ndarray:
    """What is sent; an adaptive attack has set the records before the block to their labels."""
    predictions = np.tile(planner.rows.neutral.prediction, (planner.threat.n_records, 1))
    if planner.adaptive:
        predictions[: block.start] = planner.settled(labels[: block.start])
    predictions[block.records] = planner.predictions(block)
    return predictions


@st.composite
def labellings(draw: st.DrawFn, size: int, n_classes: int) -> np.ndarray:
    """All alike, all but a few alike, every pattern of the wide or the narrow rows, or anything at all."""
    labels = np.full(size, draw(st.integers(0, n_classes - 1)))
    for place in draw(st.lists(st.integers(0, size - 1), max_size=size)):
        labels[place] = draw(st.integers(0, n_classes - 1))
    if draw(st.booleans()):
        labels = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, n_classes, size)
    return labels


@pytest.mark.long
@pytest.mark.parametrize("game", EVERY_GAME, ids=str)
def test_no_labelling_is_read_wrong(game: Game) -> None:
    threat, planner, block, answer = staged(game)
    outside = np.delete(np.arange(threat.n_records), block.records)
    assert block.reading.is_certain

    @settings(max_examples=15)
    @given(labellings(block.size, game.n_classes), st.integers(0, game.n_classes - 1))
    def search(of_block: np.ndarray, of_others: int) -> None:
        labels = np.full(threat.n_records, of_others)
        labels[outside[: game.n_classes]] = range(game.n_classes)  # some scorers need to see every class
        labels[block.records] = of_block

        score = answer(labels, query(planner, block, labels))

        levels = of_block[np.argsort(block.design.order)]
        carried = sum(int(k) * w for k, w in zip(levels, block.design.weights, strict=True)) * block.reading.unit
        rest = threat.n_records * to_fixed(float(score)) - carried - block.reading.offset
        target(abs(rest) / block.reading.slack)
        assert block.decode(score).tolist() == of_block.tolist()

    search()


@pytest.mark.parametrize("game", GAMES[:3], ids=str)
def test_weights_an_eighth_as_wide_are_not_certified_and_do_fail(game: Game) -> None:
    threat, planner, block, answer = staged(game)
    narrow = attrs.evolve(
        block,
        design=block.design._replace(unit=block.design.unit // 8, margin=block.design.margin // 8),
        reading=attrs.evolve(block.reading, unit=block.reading.unit // 8, margin=block.reading.margin // 8),
    )
    rows = dict(enumerate(planner.with_steps(narrow.design), block.start))
    base = np.full(threat.n_records, planner.rows.neutral.certain_cost, dtype=threat.arithmetic)
    reading = certify_in_order(threat, base, rows, narrow.design.unit, 3)
    assert not reading.is_certain

    narrow, failed = attrs.evolve(narrow, reading=reading), 0
    for seed in range(30):
        labels = np.random.default_rng(seed).integers(0, 2, threat.n_records)
        score = answer(labels, query(planner, narrow, labels))
        failed += narrow.decode(score).tolist() != labels[block.records].tolist()
    assert failed > 0


@attrs.frozen(kw_only=True)
class GroupGame:
    """One group of queries of the hybrid or of a detecting matrix, on one curator."""

    attack: Hybrid
    n: int
    scorer: str = "sklearn"
    defences: tuple[ScoreDefence, ...] = ()
    loss: AdditiveLoss = attrs.field(factory=LogLoss)
    group: int = 0

    def __str__(self) -> str:
        defences = "".join(f", {type(defence).__name__}" for defence in self.defences)
        return f"{type(self.attack).__name__}, {type(self.loss).__name__}, {self.scorer}, N={self.n}{defences}"


GROUP_GAMES = [
    GroupGame(attack=Hybrid(), n=306, defences=(RoundScore(decimals=4),)),
    GroupGame(attack=Hybrid(), n=569, group=1),
    GroupGame(attack=Hybrid(), n=306, scorer="sklearn:float32"),
    GroupGame(attack=Hybrid(), n=90, scorer="float16", group=1),
    pytest.param(
        GroupGame(attack=DetectingMatrix(), n=150, defences=(Clip(epsilon=0.01), RoundScore(decimals=3))),
        marks=pytest.mark.slow,
    ),
    GroupGame(attack=DetectingMatrix(), n=30, scorer="bfloat16"),
    pytest.param(GroupGame(attack=Hybrid(), n=2201, defences=(RoundScore(decimals=5),)), marks=pytest.mark.slow),
    pytest.param(GroupGame(attack=Hybrid(), n=400, scorer="fpa:41", loss=SquaredEuclidean()), marks=pytest.mark.slow),
    pytest.param(GroupGame(attack=DetectingMatrix(), n=569, scorer="float32"), marks=pytest.mark.slow),
]


@pytest.mark.long
@pytest.mark.parametrize("game", GROUP_GAMES, ids=str)
def test_no_labelling_of_a_group_is_read_wrong(game: GroupGame) -> None:
    data = LabelSet(labels=np.arange(game.n) % 2, class_names=("a", "b"), title="x", provenance="made")
    channel = ScoreChannel(loss=game.loss, scorer=game.scorer)
    threat = channel.threat(Setting(data=data, attack=game.attack, defences=game.defences))
    threat = attrs.evolve(threat, own_effects=())  # as though a function had declared what is supposed of it
    planner = next(game.attack.planners(threat))
    group = next(group for place, group in enumerate(planner.groups()) if place == game.group)
    sent = [planner.predictions(group, query.weighing) for query in group.queries]
    assert all(query.reading.is_certain for query in group.queries)

    @settings(max_examples=8)
    @given(labellings(game.n, 2))
    def search(labels: np.ndarray) -> None:
        curator, weighed, used = channel.curator(labels, threat, np.random.default_rng(0)), [], 0.0
        for query, predictions in zip(group.queries, sent, strict=True):
            score = curator.answer(Query(predictions=predictions, precision=256))
            private, answer = query.decode(score)
            assert private.tolist() == labels[query.weighing.private].tolist()
            carried = int(np.array(query.weighing.weights) @ private) + answer * query.weighing.modulus
            rest = threat.n_records * to_fixed(float(score)) - carried * query.reading.unit - query.reading.offset
            used = max(used, abs(rest) / query.reading.slack)
            weighed.append(answer)
        target(used)
        assert group.detect(weighed).tolist() == labels[group.detected].tolist()

    search()


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "n", "n_classes", "queries"),
    [
        pytest.param(AdaptiveWeights(), 1372, 2, 29, marks=pytest.mark.slow),
        (AdaptiveWeights(), 150, 2, 3),
        pytest.param(Hybrid(), 2201, 2, 46, marks=pytest.mark.slow),
        pytest.param(Hybrid(), 400, 5, 27, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_whole_sets_come_out_of_full_scores(attack: ScoreAttack, n: int, n_classes: int, queries: int) -> None:
    """Later blocks rest on settled records, or on detected records that all queries of a group share."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n)
    data = LabelSet(labels=labels, class_names=tuple("abcde"[:n_classes]), title="x", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer="sklearn")
    setting = Setting(data=data, attack=attack)
    promise = attack.promise(channel.threat(setting))

    outcome = channel.play(setting, curator_rng=rng, attack_rng=rng)

    assert promise is not None
    assert promise.certified
    assert (outcome.n_correct, outcome.queries) == (n, queries)


@pytest.mark.long
def test_what_a_promise_rests_on_is_named() -> None:
    threat = staged(SMALL)[0]
    known = BinaryWeights().promise(threat)
    unknown = BinaryWeights().promise(attrs.evolve(threat, summation="unknown"))
    assert known is not None
    assert unknown is not None
    assert "NumPy's order" in known.conditions
    assert "any order" in unknown.conditions
    small = attrs.evolve(SMALL, scorer="bfloat16")
    sequential = small.attack.promise(staged(small)[0])
    assert sequential is not None
    assert "bfloat16 as this machine does, adding from the first record to the last" in sequential.conditions


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({"effects": (Reordered(),)}, "needs records in an order that does not change"),
        ({"effects": (Hidden(count=1),)}, "needs a score over all records"),
        ({"effects": (Sampled(size=30, others=True),)}, "needs a score over all records"),
        ({"effects": (Perturbed(epsilon=1.0, fresh=True),)}, "needs the same labels behind every score"),
        ({"effects": (Moved(bound=float("inf")),)}, "the noise has no bound and no spread that is known"),
        ({"effects": (Moved(bound=50.0),)}, "not one label per query stands out from the error of the score"),
        ({"n_classes": 3, "prior": (0.2, 0.3, 0.5)}, "needs two classes; mixed-radix is for more"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_in_a_clause(change: dict[str, Any], clause: str) -> None:
    assert BinaryWeights().unsupported_reason(attrs.evolve(staged(SMALL)[0], **change)) == clause


def test_rows_that_must_sum_to_one_stop_the_unnormalised_attack() -> None:
    threat = staged(SMALL)[0]
    assert UnnormalisedWeights().unsupported_reason(threat) == ""
    assert (
        UnnormalisedWeights().unsupported_reason(attrs.evolve(threat, effects=(RowSums(),))) == "rows must sum to one"
    )
    single = attrs.evolve(threat, input_format="float32")
    assert (
        UnnormalisedWeights().unsupported_reason(single)
        == "needs a curator that reads and computes in one float format"
    )


@pytest.mark.parametrize("change", [{"input_format": "float32"}, {"arithmetic": "bfloat16"}, {"loss": ItakuraSaito()}])
def test_rows_of_settled_labels_need_the_log_loss_of_one_float_format(change: dict[str, Any]) -> None:
    """scikit-learn before 1.9 reads single precision and computes in double."""
    clause = "needs the log-loss, read and computed in one of float64 and float32"
    assert AdaptiveWeights().unsupported_reason(staged(SMALL)[0]) == ""
    assert AdaptiveWeights().unsupported_reason(attrs.evolve(staged(SMALL)[0], **change)) == clause


def test_noise_without_a_bound_is_played_but_not_certified() -> None:
    threat = attrs.evolve(staged(SMALL)[0], effects=(Moved(bound=float("inf"), std=1e-6),))
    promise = BinaryWeights().promise(threat)
    assert BinaryWeights().unsupported_reason(threat) == ""
    assert promise is not None
    assert not promise.certified
