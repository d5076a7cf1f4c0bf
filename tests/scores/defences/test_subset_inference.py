"""Scores on part of the records, read: membership and label of many records an answer."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_scores.attacks.averaging import Averaging
from labelinf_scores.attacks.subset_inference import LEFT_OUT, SubsetInference, SubsetRows, outcome_gaps
from labelinf_scores.bounds.unseen import Unseen
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.defences.subset import Subset
from labelinf_scores.defences.thresholdout import Thresholdout
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import Query, ScoreDefence
from labelinf_scores.metrics.log_loss import LogLoss

INFER = SubsetInference()


def channel(scorer: str = "sklearn", queries: int = 0) -> ScoreChannel:
    return ScoreChannel(loss=LogLoss(), scorer=scorer, queries=queries)


def game(n: int, *defences: ScoreDefence, n_classes: int = 2, seed: int = 0, attack: Any = INFER) -> Setting:
    labels = np.random.default_rng(seed).integers(0, n_classes, n)
    names = tuple(map(str, range(n_classes)))
    data = LabelSet(labels=labels, class_names=names, title="made", provenance="made")
    return Setting(data=data, attack=attack, defences=defences)


def play(setting: Setting, board: ScoreChannel, seed: int = 0) -> Outcome:
    assert setting.attack is not None
    assert setting.attack.unsupported_reason(board.threat(setting)) == ""
    rngs = np.random.default_rng(seed).spawn(2)
    return board.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])


@pytest.mark.long
@pytest.mark.parametrize(("n", "size", "at_least"), [(306, 100, 26), (2201, 660, 25), (25_000, 7500, 23)])
def test_one_answer_tells_membership_and_label_of_so_many_records(n: int, size: int, at_least: int) -> None:
    """Twenty blocks of each size, held against the subset as the curator itself betrays it, record by record."""
    board, setting = channel(), game(n, Subset(share=size / n))
    threat = board.threat(setting)
    curator = board.curator(setting.data.labels, threat, np.random.default_rng(1))
    rows = SubsetRows.of(threat)
    m = len(rows.gaps)
    assert m >= at_least
    for start in range(0, min(20 * m, n - m), m):
        predictions = np.full((n, 2), 0.5)
        predictions[start : start + m] = rows.predictions
        outcomes = rows.decode(curator.answer(Query(predictions=predictions)), m)
        assert outcomes is not None
        for record in range(start, start + m, 5):
            pushed = np.full(n, 0.5)
            pushed[record] = 0.01
            scored = abs(curator.answer(Query(predictions=pushed)) - math.log(2)) > 1e-12
            assert outcomes[record - start] == (setting.data.labels[record] if scored else LEFT_OUT)


def test_any_two_outcomes_differ_by_more_than_all_narrower_rows() -> None:
    """By brute force over all outcomes of six rows."""
    gaps = list(outcome_gaps(1e-3, 36.0))[:6]
    costs = [(0.0, math.log1p(math.exp(-d)) - math.log(2), d + math.log1p(math.exp(-d)) - math.log(2)) for d in gaps]
    sums = np.sort(functools.reduce(np.add.outer, map(np.array, costs)).ravel())
    assert np.diff(sums).min() >= 1e-3 * (1 - 1e-9)
    assert list(outcome_gaps(1.0, 36.0)) == []
    assert max(outcome_gaps(1e-12, 2.0)) <= 2.0
    assert len(list(outcome_gaps(1e-15, 36.0))) < 64


def test_a_fixed_subset_is_read_to_its_ceiling() -> None:
    board = channel()
    for seed in range(3):
        setting = game(306, Subset(share=100 / 306), seed=seed)
        outcome = play(setting, board, seed)
        (ceiling,) = Unseen().ceilings(board.threat(setting))
        assert outcome.queries == 12
        assert outcome.evidence["seen in the subset"] == 100
        assert outcome.n_correct / 306 > 100 / 306 + 0.45 * 206 / 306
        assert outcome.n_correct / 306 <= ceiling.accuracy + 0.06


@pytest.mark.long
def test_fresh_subsets_hide_nothing_and_averaging_them_is_the_weaker_attack() -> None:
    fresh, board = Subset(share=0.3, fresh=True), channel(queries=100)
    inferred = play(game(306, fresh), board)
    averaged = play(game(306, fresh, attack=Averaging()), board)
    assert inferred.n_correct == 306
    assert inferred.queries < 60
    assert averaged.n_correct < 0.8 * 306


@pytest.mark.parametrize("scorer", ["float32", "exact"])
def test_other_arithmetic_tells_fewer_or_more(scorer: str) -> None:
    outcome = play(game(120, Subset(share=0.4)), channel(scorer))
    assert outcome.evidence["seen in the subset"] == 48
    assert outcome.evidence["seen to be left out"] == 72


def test_rounded_scores_are_read_a_few_records_at_a_time() -> None:
    outcome = play(game(120, Subset(share=0.4), RoundScore(decimals=4)), channel())
    assert outcome.evidence["seen in the subset"] == 48
    assert 2 <= outcome.evidence["records per query"] < 10


def test_labels_perturbed_once_are_read_as_they_are_scored() -> None:
    outcome = play(game(120, Subset(share=0.4), PerturbedLabels(epsilon=3.0)), channel())
    assert outcome.evidence["seen in the subset"] == 48


def test_thresholdout_gives_its_open_half_away() -> None:
    """The rows are too few to make the halves disagree; answers from the other half fit no outcome and are dropped."""
    for seed in range(3):
        outcome = play(game(200, Thresholdout()), channel(), seed)
        assert outcome.evidence["seen in the subset"] >= 99
        assert outcome.n_correct >= 0.68 * 200


def test_it_ends_with_its_budget() -> None:
    outcome = play(game(306, Subset(share=0.3)), channel(queries=2))
    assert outcome.queries == 2
    assert 0 < outcome.evidence["seen in the subset"] < 60


@pytest.mark.parametrize(
    ("defences", "n_classes", "reason"),
    [
        ((), 2, "all records are scored"),
        ((Subset(share=0.5),), 3, "two classes"),
        ((Subset(share=0.5), ScoreNoise(model=Gaussian(scale=0.1))), 2, "without noise"),
        ((Subset(share=0.5), Ladder()), 2, "improvements alone"),
        ((Subset(share=0.5), PermuteLabels()), 2, "order that does not change"),
        ((Subset(share=0.5), RoundScore(decimals=0)), 2, "no record stands out"),
    ],
)
def test_it_says_what_it_cannot_read(defences: tuple[ScoreDefence, ...], n_classes: int, reason: str) -> None:
    assert reason in INFER.unsupported_reason(channel().threat(game(60, *defences, n_classes=n_classes)))
