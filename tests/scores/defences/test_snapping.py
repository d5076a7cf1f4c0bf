"""Snapping is calibrated to what stands nearer to the scorer, whatever stands further out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.theory import theory
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_scores.audit.strongest import attacks
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.ladder import Ladder
from labelinf_scores.defences.query_limit import QueryLimit
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.snapping import Snapping
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.scoring import Query
from labelinf_scores.metrics.log_loss import LogLoss

N = 1000
DATA = LabelSet(labels=np.arange(N) % 2, class_names=("0", "1"), title="made", provenance="made")
BUILDER = Builder(Host.load())
CHANNEL = ScoreChannel(loss=LogLoss(), scorer="float64")


def spread(*defences: Clip | Snapping | RoundScore) -> tuple[float, float]:
    """Return the standard deviation that is told, and the one of 400 answers."""
    threat = CHANNEL.threat(Setting(data=DATA, defences=defences))
    curator = CHANNEL.curator(DATA.labels, threat, np.random.default_rng(0))
    answers = [float(curator.answer(Query(predictions=np.full(N, 0.5)))) for _ in range(400)]
    return threat.noise_std, float(np.std(answers))


def test_the_noise_is_what_is_told() -> None:
    told, seen = spread(Clip(epsilon=0.01), Snapping(epsilon=1))

    assert seen == pytest.approx(told, rel=0.2)


def test_a_coarser_answer_further_out_adds_no_noise() -> None:
    """Rounding to tenths hides noise of .007 altogether; calibrated to the rounding, it would be .16."""
    _, seen = spread(Clip(epsilon=0.01), Snapping(epsilon=1), RoundScore(decimals=1))

    assert seen < 0.01


def test_it_can_stand_nearer_to_the_scorer_than_a_stage_with_memory() -> None:
    threat = CHANNEL.threat(Setting(data=DATA, defences=(Clip(epsilon=0.01), Snapping(epsilon=1), Ladder(step=0.01))))
    curator = CHANNEL.curator(DATA.labels, threat, np.random.default_rng(0))

    assert np.isfinite(float(curator.answer(Query(predictions=np.full(N, 0.5)))))
    assert threat.noise_std > 0


def test_nothing_is_certified_by_a_logarithm_that_need_not_be_rounded_correctly() -> None:
    """Mironov's proof asks for a correctly rounded one; diffprivlib takes NumPy's."""
    limit = QueryLimit(queries=3)
    threat = CHANNEL.threat(Setting(data=DATA, defences=(Clip(epsilon=0.01), Snapping(epsilon=1), limit)))

    assert math.isinf(threat.answer_epsilon)
    assert math.isinf(threat.label_epsilon)
    stated = {ceiling.statement for ceiling in theory(BUILDER, "score", threat).ceilings}
    assert stated <= {"labelinf theory, counting and Fano"}  # of any answers of so many bits


def test_too_little_noise_is_refused() -> None:
    with pytest.raises(InputError, match="snapping with sensitivity=1e-06 is not private: one label moves"):
        CHANNEL.threat(Setting(data=DATA, defences=(Clip(epsilon=0.01), Snapping(epsilon=1, sensitivity=1e-6))))


def test_where_it_cuts_scores_off_one_label_at_a_time_is_tried_too() -> None:
    # In 24 games Hadamard designs, whose scores pass ``highest`` without a clip, had 51 % of 40 labels, this one 75 %.
    board = ScoreChannel(loss=LogLoss(), scorer="sklearn")
    threat = board.threat(Setting(data=DATA, defences=(Snapping(epsilon=1),)))
    assert any(spec.startswith("averaging") for spec in attacks(threat))
    assert not any(spec.startswith("averaging") for spec in attacks(board.threat(Setting(data=DATA))))
