"""Certified block attacks through scikit-learn's own log_loss: every label, in few queries, for every labelling."""

from __future__ import annotations

import functools
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.attacks.binary_weights import BinaryWeights
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.block_plan import Block, BlockPlanner, decode_blocks

BUILDER = Builder(Host.load())


@functools.cache
def labels_of(name: str) -> LabelSet:
    spec = "breast-cancer" if name == "breast-cancer" else f"counts(name={name})"
    data: LabelSet = BUILDER.build(Kind.LABELS, spec, "test").load()
    return data


def setting(name: str, attack: str, *defences: str) -> Setting:
    return Setting(
        data=labels_of(name),
        attack=BUILDER.build(Kind.ATTACK, attack, "test"),
        defences=tuple(BUILDER.build(Kind.DEFENCE, each, "test") for each in defences),
    )


def channel(scorer: str = "sklearn", queries: int = 0) -> ScoreChannel:
    built: ScoreChannel = BUILDER.build(
        Kind.CHANNEL, f"score(loss=log-loss, scorer='{scorer}', queries={queries})", "test"
    )
    return built


def play(game: Setting, scorer: str = "sklearn", queries: int = 0) -> Any:
    return channel(scorer, queries).play(
        game, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1)
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "attack", "at_most"),
    [
        ("titanic", "binary-weights", 47),  # the data sets of the paper: tests/theorems/test_icml2021_table_2.py
        pytest.param("satellite", "mixed-radix", 402, marks=pytest.mark.slow),
        ("breast-cancer", "adaptive-weights", 12),
        pytest.param("haberman", "unnormalised-weights", 6, marks=pytest.mark.slow),
        pytest.param("imdb", "binary-weights", 569, marks=pytest.mark.slow),
        pytest.param("imdb", "unnormalised-weights", 482, marks=pytest.mark.slow),
        pytest.param("imdb", "adaptive-weights", 558, marks=pytest.mark.slow),
    ],
)
def test_every_label_comes_out_certified_in_few_queries(name: str, attack: str, at_most: int) -> None:
    game = setting(name, attack)
    threat = channel().threat(game)
    assert isinstance(game.attack, ScoreAttack)
    promise = game.attack.promise(threat)

    outcome = play(game)

    assert promise is not None
    assert promise.certified
    assert outcome.n_correct == outcome.n_records
    assert outcome.queries <= at_most


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "decimals", "at_most"),
    [
        pytest.param("binary-weights", 4, 276, marks=pytest.mark.slow),
        ("binary-weights", 5, 201),
        pytest.param("conway-guy", 4, 245, marks=pytest.mark.slow),
        ("conway-guy", 5, 184),
    ],
)
def test_rounded_scores_give_all_labels_away_too(attack: str, decimals: int, at_most: int) -> None:
    outcome = play(setting("titanic", attack, f"round(decimals={decimals})"))

    assert outcome.n_correct == outcome.n_records
    assert outcome.queries <= at_most


@pytest.mark.slow
@pytest.mark.parametrize(("decimals", "at_most"), [(5, 1878), (4, 2636)])
def test_twenty_five_thousand_rounded_scores_give_all_labels_away(decimals: int, at_most: int) -> None:
    game = setting("imdb", "hybrid", f"round(decimals={decimals})")
    assert isinstance(game.attack, ScoreAttack)
    promise = game.attack.promise(channel().threat(game))

    outcome = play(game)

    assert promise is not None
    assert promise.certified
    assert outcome.n_correct == outcome.n_records
    assert outcome.queries <= at_most


def test_a_clip_costs_the_attacker_a_few_labels_a_query() -> None:
    game = setting("haberman", "binary-weights", "clip(epsilon=0.01)")

    outcome = play(game)

    assert outcome.n_correct == outcome.n_records
    assert outcome.queries <= 7


@pytest.mark.slow
def test_single_precision_is_decoded_as_well() -> None:
    outcome = play(setting("haberman", "binary-weights"), scorer="float32")

    assert outcome.n_correct == outcome.n_records
    assert outcome.queries <= 18


def test_a_spent_budget_leaves_the_majority_class_for_the_rest() -> None:
    game = setting("breast-cancer", "binary-weights")
    assert isinstance(game.attack, ScoreAttack)

    promise = game.attack.promise(channel(queries=5).threat(game))
    outcome = play(game, queries=5)

    assert promise is not None
    assert not promise.certified
    assert outcome.queries == 5
    assert 5 * 44 < outcome.n_correct < outcome.n_records


@pytest.mark.slow
def test_queries_stream_and_answers_are_decoded_in_milliseconds() -> None:
    """25 000 labels: all queries together would take 220 MB, and the decoder has 3 ms of work."""
    data = LabelSet(labels=np.arange(25_000) % 2, class_names=("0", "1"), title="x", provenance="made")
    attack = BinaryWeights()
    threat = channel().threat(Setting(data=data, attack=attack))
    plan = list(attack.planner(threat).blocks())
    assert attack.promise(threat) is not None
    oracle = ScoreOracle(threat, lambda query: float(query.predictions[:, 0].mean()))

    tracemalloc.start()
    attack.run(oracle, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    start = time.process_time()
    decode_blocks(plan, [0.7] * len(plan))
    spent = time.process_time() - start

    assert oracle.spent == len(plan) <= 596
    assert peak < 20e6
    assert spent < 0.05


@functools.cache
def first_block() -> tuple[ScoreThreat, BlockPlanner, Block]:
    threat = channel().threat(setting("haberman", "binary-weights"))
    planner = BinaryWeights().planner(threat)
    return threat, planner, next(planner.blocks())


def answer(rows: np.ndarray[Any, Any], records: slice, n_records: int, block_labels: list[int], others: int) -> float:
    labels = np.full(n_records, others)
    labels[records] = block_labels
    predictions = np.full(n_records, 0.5)
    predictions[records] = rows[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(log_loss(labels, predictions, labels=[0, 1]))


@pytest.mark.slow
@settings(max_examples=80)
@given(st.integers(0, 2**60), st.integers(0, 1))
def test_no_labelling_breaks_the_certificate(code: int, others: int) -> None:
    """Adversarial labellings of the first block, through scikit-learn: none is read wrong."""
    threat, planner, block = first_block()
    labels = [code >> place & 1 for place in range(block.size)]

    score = answer(planner.predictions(block), block.records, threat.n_records, labels, others)

    assert block.decode(score).tolist() == labels


def test_the_certificate_is_not_vacuous() -> None:
    """What the curator's arithmetic may do is within a factor of eight (three labels) of what the block survives."""
    threat, planner, block = first_block()
    labels = [place % 2 for place in range(block.size)]
    score = answer(planner.predictions(block), block.records, threat.n_records, labels, 0)

    assert block.reading.present < block.reading.survives < 8 * block.reading.present
    assert block.decode(score + 2.1 * block.reading.survives).tolist() != labels
