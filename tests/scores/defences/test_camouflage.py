"""A detector of constructions, met by queries that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Outcome, Setting
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_scores.attacks.camouflage import Camouflage
from labelinf_scores.attacks.hybrid import Hybrid
from labelinf_scores.defences.minimum_batch import MinimumBatch
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.refuse_constructions import RefuseConstructions
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.oracle import ScoreAttack
from labelinf_scores.metrics.log_loss import LogLoss
from labelinf_scores.metrics.sigmoid_log_loss import SigmoidLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean


def setting(n: int, *defences: ScoreDefence, n_classes: int = 2, attack: ScoreAttack | None = None) -> Setting:
    labels = np.random.default_rng(n).integers(0, n_classes, n)
    names = tuple(map(str, range(n_classes)))
    data = LabelSet(labels=labels, class_names=names, title="made", provenance="made")
    return Setting(data=data, attack=attack or Camouflage(), defences=defences)


def play(game: Setting, loss: Any = None, seed: int = 0) -> Outcome:
    board = ScoreChannel(loss=loss or LogLoss(), scorer="float64")
    rngs = np.random.default_rng(seed).spawn(2)
    return board.play(game, curator_rng=rngs[0], attack_rng=rngs[1])


@pytest.mark.long
@pytest.mark.parametrize("defence", [pytest.param(RefuseConstructions(), marks=pytest.mark.slow), MinimumBatch()])
def test_queries_that_look_honest_pass_where_constructions_are_refused(defence: ScoreDefence) -> None:
    outcome = play(setting(150, defence))
    assert (outcome.n_correct, outcome.queries, outcome.evidence["refused"]) == (150, 165, 0)
    assert play(setting(150, defence, attack=Hybrid())).n_correct < 100


def test_several_classes_and_another_loss() -> None:
    assert play(setting(60, RefuseConstructions(), n_classes=3)).n_correct == 60
    assert play(setting(60), SquaredEuclidean()).n_correct == 60


def test_fewer_queries_and_noise_leave_a_part() -> None:
    some = play(setting(200, RefuseConstructions(), QueryLimit(queries=100)))
    assert some.queries == 100
    assert 120 < some.n_correct < 200
    noisy = play(setting(200, ScoreNoise(model=Gaussian(scale=0.02))))
    assert 120 < noisy.n_correct < 200


def test_it_says_what_it_cannot_solve() -> None:
    board = ScoreChannel(loss=LogLoss(), scorer="float64")
    assert "order" in Camouflage().unsupported_reason(board.threat(setting(20, PermuteLabels())))
    assert "4000 unknowns" in Camouflage().unsupported_reason(board.threat(setting(5000)))
    logits = ScoreChannel(loss=SigmoidLogLoss(), scorer="float64")
    assert "probabilities" in Camouflage().unsupported_reason(logits.threat(setting(20)))
