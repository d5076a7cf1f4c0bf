"""The papers' powers of two against real and made curators: what is promised is kept, and nothing else promised."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.effects import Unknown
from labelinf_papers.attacks.doubling import Doubling
from labelinf_papers.attacks.powers_blocks import PowersBlocks
from labelinf_papers.attacks.powers_exhaustive import PowersExhaustive
from labelinf_scores.attacks.averaging import Averaging
from labelinf_scores.constructions.powers import largest_tau
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.game.effects import Hidden, Perturbed, Reordered
from labelinf_scores.metrics.itakura_saito import ItakuraSaito
from labelinf_scores.metrics.norm_like import NormLike
from labelinf_scores.metrics.softmax_log_loss import SoftmaxLogLoss
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

SPAN = math.log((1 - 2**-52) / 2**-52)


@pytest.mark.parametrize("base", [math.e, 3.0], ids=["repaired", "printed"])
@pytest.mark.parametrize("scorer", ["sklearn", "sklearn:float32", "float64", "float32", "fpa:53", "exact"])
def test_blocks_recover_every_label_with_certainty_in_every_arithmetic(play, scorer: str, base: float) -> None:
    run_trial = play(PowersBlocks(base=base), 120, scorer=scorer)
    assert run_trial.certified
    assert run_trial.accuracy == 1
    assert run_trial.outcome.queries < 120 / 5


@pytest.mark.parametrize("loss", [ItakuraSaito(), SquaredEuclidean(), NormLike(alpha=3.0), SoftmaxLogLoss()], ids=str)
@pytest.mark.parametrize("scorer", ["float64", "exact"])
def test_blocks_serve_every_additive_loss(play, loss, scorer: str) -> None:
    run_trial = play(PowersBlocks(), 60, loss=loss, scorer=scorer)
    assert run_trial.certified
    assert run_trial.accuracy == 1


@pytest.mark.parametrize("scorer", ["sklearn", "float64", "exact"])
@pytest.mark.parametrize("n_classes", [3, 6])
def test_blocks_recover_more_than_two_classes(play, scorer: str, n_classes: int) -> None:
    run_trial = play(PowersBlocks(), 50, n_classes=n_classes, scorer=scorer)
    assert run_trial.certified
    assert run_trial.accuracy == 1


@pytest.mark.parametrize("attack", [PowersBlocks(), PowersBlocks(base=3.0), Doubling(), Averaging()], ids=str)
def test_ten_classes_fit_into_a_clip_whose_room_is_less_than_what_normalising_takes(play, attack) -> None:
    """ln((1 - c) / c) = 4.595 for c = .01, of which ln 10 = 2.303 is lost: 2.292 are left."""
    run_trial = play(attack, 40, n_classes=10, defences=(Clip(epsilon=0.01),))
    assert run_trial.certified == isinstance(attack, PowersBlocks)
    assert run_trial.accuracy == 1


@pytest.mark.parametrize("attack", [PowersBlocks(), PowersExhaustive(), Doubling(), Averaging()], ids=str)
@pytest.mark.parametrize(
    ("epsilon", "clause"),
    [(0.095, "no room for rows of 10 classes within the clip"), (0.3, "float64 tells no labels apart")],
)
def test_a_clip_that_leaves_no_room_is_refused_in_a_clause(threat_of, attack, epsilon: float, clause: str) -> None:
    assert attack.unsupported_reason(threat_of(attack, 9, n_classes=10, scorer_clip=epsilon)) == clause


def test_more_than_two_classes_need_a_loss_with_free_costs(threat_of) -> None:
    attack = PowersBlocks()
    assert "rows of any costs" in attack.unsupported_reason(
        threat_of(attack, 9, n_classes=3, loss=SquaredEuclidean(), scorer="float64")
    )
    assert attack.unsupported_reason(threat_of(attack, 9, n_classes=3, loss=SoftmaxLogLoss(), scorer="float64")) == ""


@pytest.mark.parametrize("decimals", [2, 3, 5])
def test_rounding_costs_labels_per_query_and_saves_none(play, decimals: int) -> None:
    run_trial = play(PowersBlocks(), 306, defences=(RoundScore(decimals=decimals),))
    assert run_trial.certified
    assert run_trial.accuracy == 1
    labels = run_trial.outcome.evidence["labels per query"]
    assert labels == pytest.approx(math.log2(SPAN / (306 * 10**-decimals / 2)), abs=1)


def test_a_clip_narrows_the_gaps(play) -> None:
    run_trial = play(PowersBlocks(), 120, defences=(Clip(epsilon=0.01), RoundScore(decimals=4)))
    assert run_trial.certified
    assert run_trial.accuracy == 1
    assert run_trial.promise.survives <= 4.595120 / (120 * 2 ** run_trial.outcome.evidence["labels per query"])


@pytest.mark.parametrize("seed", range(3))
def test_worst_case_noise_just_below_the_promise_is_survived(play, defences, seed: int) -> None:
    tau = 0.999 * largest_tau(4, n_records=40, span=SPAN)
    run_trial = play(PowersBlocks(), 40, defences=(defences.extreme(tau=tau),), seed=seed)
    assert run_trial.outcome.evidence["labels per query"] == 4
    assert run_trial.certified
    assert run_trial.accuracy == 1


def test_noise_beyond_one_label_per_query_is_not_promised_against(play, defences) -> None:
    tau = 1.001 * SPAN / (2 * 40)
    run_trial = play(PowersBlocks(), 40, defences=(defences.extreme(tau=tau),))
    assert not run_trial.certified
    assert run_trial.accuracy < 1


def test_base_three_reaches_no_further_than_its_parameter(play, defences) -> None:
    """tau given: three labels a query fit a clip for tau up to L / (8 N), in the printed form up to L / (8 N ln 3)."""
    tau = 0.99 * SPAN / (8 * 40)
    repaired, printed = PowersBlocks(tau=tau), PowersBlocks(tau=tau, base=3.0)
    assert play(repaired, 40).outcome.evidence["labels per query"] == 3
    assert play(printed, 40).outcome.evidence["labels per query"] == 2
    assert play(repaired, 40, defences=(defences.extreme(tau=tau * 0.999, told=False),)).accuracy == 1


def test_a_budget_leaves_the_rest_to_the_majority_guess(play) -> None:
    labels = np.array([0] * 70 + [1] * 30)
    run_trial = play(PowersBlocks(labels_per_query=10), 100, labels=labels, queries=3)
    assert run_trial.outcome.queries == 3
    assert run_trial.outcome.evidence["asked about"] == 30
    assert run_trial.promise is None
    assert 0.7 < run_trial.accuracy < 1


def test_nothing_is_promised_where_queries_may_be_refused(play, defences) -> None:
    run_trial = play(PowersBlocks(), 30, defences=(defences.refuse(),))
    assert run_trial.promise is None
    assert run_trial.accuracy == max(run_trial.threat.prior)


@pytest.mark.parametrize(
    "effect",
    [
        Perturbed(epsilon=2.0),
        Hidden(count=3),
        Reordered(),
        Perturbed(epsilon=2.0, debiased=True),
        Unknown(stage="mine"),
    ],
    ids=str,
)
def test_nothing_is_promised_where_the_score_is_of_other_labels(threat_of, effect) -> None:
    attack = PowersBlocks()
    assert attack.promise(threat_of(attack, 30, effects=(effect,))) is None
    assert attack.promise(threat_of(attack, 30)).certified


@pytest.mark.parametrize("n", [1, 2, 12, 20])
@pytest.mark.parametrize("scorer", ["sklearn", "float64", "exact"])
def test_one_query_recovers_everything(play, n: int, scorer: str) -> None:
    run_trial = play(PowersExhaustive(), n, scorer=scorer)
    assert run_trial.outcome.queries == 1
    assert run_trial.certified
    assert run_trial.accuracy == 1


def test_one_query_recovers_several_classes(play) -> None:
    assert play(PowersExhaustive(), 8, n_classes=3).accuracy == 1
    assert play(PowersExhaustive(), 8, n_classes=3, scorer="exact").accuracy == 1


def test_sums_that_doubles_cannot_tell_apart_are_decoded_all_the_same(play) -> None:
    """Five classes as printed span 2**85 units over 17 records."""
    run_trial = play(PowersExhaustive(), 17, n_classes=5, scorer="exact", defences=(Clip(epsilon=0.01),))
    assert run_trial.certified
    assert run_trial.accuracy == 1


def test_too_many_labellings_are_refused(threat_of) -> None:
    attack = PowersExhaustive()
    assert attack.unsupported_reason(threat_of(attack, 41)) == "more than 2^40 labellings to search"
    assert attack.unsupported_reason(threat_of(attack, 40)) == ""


def test_a_refused_single_query_leaves_the_majority_guess(play, defences) -> None:
    run_trial = play(PowersExhaustive(), 10, defences=(defences.refuse(),))
    assert run_trial.accuracy == max(run_trial.threat.prior)
    assert run_trial.outcome.evidence["refused"] == "no"


def test_single_query_noise_just_below_its_promise_is_survived(play, defences) -> None:
    tau = 0.999 * largest_tau(8, n_records=8, span=SPAN)
    run_trial = play(PowersExhaustive(), 8, defences=(defences.extreme(tau=tau),))
    assert run_trial.certified
    assert run_trial.accuracy == 1


@pytest.mark.parametrize("attack", [PowersBlocks, PowersExhaustive])
@pytest.mark.parametrize(("field", "value"), [("tau", -1.0), ("base", 2.0)])
def test_parameters_out_of_range_are_named(attack, field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        attack(**{field: value})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        attack().tau = 1.0
