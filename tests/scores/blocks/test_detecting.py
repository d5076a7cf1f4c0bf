"""Detecting matrices: the recursion against its definition, the decoder for all vectors, the attack at its noise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_core.contracts.guarantees import Promise
from labelinf_papers.attacks.detecting_matrix import DetectingMatrix
from labelinf_scores.constructions.detecting_matrix import (
    detecting_matrix,
    detecting_row,
    n_columns,
    queries_needed,
)
from labelinf_scores.decoders.detecting import detect
from labelinf_scores.defences.randomised_response import PerturbedLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ActiveScoreDefence, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, Refusing, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.log_loss import LogLoss

ATTACK = DetectingMatrix()
SPAN = math.log((1 - 2**-52) / 2**-52)


@attrs.frozen(kw_only=True)
class Extreme(ScoreDefence):
    """Moves every score by exactly ``tau``, up or down at random, and declines the queries of the given numbers."""

    tau: float = 0.0
    declined: tuple[int, ...] = ()

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        return (Moved(bound=self.tau, std=self.tau), *((Refusing(),) if self.declined else ()))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        return _Moving(self, rng)


class _Moving(ActiveScoreDefence):
    def __init__(self, stage: Extreme, rng: np.random.Generator) -> None:
        self.stage, self.rng, self.numbers = stage, rng, itertools.count()

    def answer(self, labels: Any, query: Query, ask: Any) -> Any:
        if next(self.numbers) in self.stage.declined:
            raise QueryRefusedError("no")
        return ask(labels, query) + float(self.rng.choice([-1, 1])) * self.stage.tau


def game(
    n: int, *defences: ScoreDefence, classes: int = 2, scorer: str = "sklearn", queries: int = 0
) -> tuple[ScoreChannel, Setting]:
    labels = np.random.default_rng(3).integers(0, classes, n)
    labels[:classes] = range(classes)
    data = LabelSet(labels=labels, class_names=tuple("abc"[:classes]), title="made", provenance="made")
    channel = ScoreChannel(loss=LogLoss(), scorer=scorer, queries=queries)
    return channel, Setting(data=data, attack=ATTACK, defences=defences)


def promise_of(threat: ScoreThreat) -> Promise:
    promise = ATTACK.promise(threat)
    assert promise is not None
    return promise


def play(channel: ScoreChannel, setting: Setting) -> Outcome:
    rngs = np.random.default_rng(1).spawn(2)
    return channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])


def defined(level: int) -> np.ndarray:
    """D_k by its definition, in blocks."""
    if level == 0:
        return np.ones((1, 1), dtype=int)
    half = defined(level - 1)
    unit = np.eye(len(half), dtype=int)
    return np.block([[half, half, unit], [half, -half, 0 * unit]])


@pytest.mark.parametrize("level", range(7))
def test_rows_are_those_of_the_recursion(level: int) -> None:
    assert np.array_equal(detecting_matrix(2**level), defined(level))
    assert n_columns(2**level) == (level + 2) * 2**level // 2


def test_a_detected_row_needs_no_other_row() -> None:
    assert all(np.array_equal(detecting_row(100, row), detecting_matrix(100)[row]) for row in range(100))


def test_the_queries_that_labels_need_are_the_fewest() -> None:
    for labels, extra in itertools.product((1, 2, 5, 100, 6144), (0, 1, 7)):
        q = queries_needed(labels, extra)
        assert n_columns(q) + q * extra >= labels > n_columns(q - 1) + (q - 1) * extra


def test_a_weighing_that_is_wrong_shows_or_misleads_but_does_not_fail() -> None:
    matrix = detecting_matrix(8).astype(int)
    vector = np.arange(n_columns(8)) % 2
    wrong = detect(matrix @ vector + np.array([0, 3, 0, 0, 0, 0, -2, 0]))
    assert not np.array_equal(wrong, vector)
    assert wrong.shape == vector.shape


@settings(max_examples=40)
@given(queries=st.integers(1, 200), seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1))
def test_large_vectors_come_back(queries: int, seed: int, share: float) -> None:
    vector = (np.random.default_rng(seed).random(n_columns(queries)) < share).astype(int)
    assert np.array_equal(detect(detecting_matrix(queries).astype(int) @ vector), vector)


def test_a_thousand_sums_are_decoded() -> None:
    vector = np.random.default_rng(0).integers(0, 2, n_columns(1024))
    assert np.array_equal(detect(detecting_matrix(1024).astype(int) @ vector), vector)


@pytest.mark.parametrize(("n", "queries"), [(306, 78), pytest.param(2201, 424, marks=pytest.mark.slow)])
def test_all_labels_come_out_of_rounded_scores(n: int, queries: int) -> None:
    channel, setting = game(n, RoundScore(decimals=4))
    outcome = play(channel, setting)
    promise = promise_of(channel.threat(setting))
    assert outcome.n_correct == n
    assert outcome.queries == queries
    assert promise.certified
    assert outcome.evidence["recovery"] == "certified"


def test_nothing_is_certain_about_perturbed_labels_or_unbounded_noise() -> None:
    channel, setting = game(60, PerturbedLabels(epsilon=2.0))
    threat = channel.threat(setting)
    assert not promise_of(threat).certified
    channel, setting = game(60)
    unbounded = attrs.evolve(channel.threat(setting), effects=(Moved(bound=math.inf, std=1e-9),))
    assert ATTACK.unsupported_reason(unbounded) == ""
    assert not promise_of(unbounded).certified
