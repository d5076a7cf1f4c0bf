"""The baseline, averaging, unknown noise and unordered labels."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_papers.attacks.doubling import Doubling
from labelinf_papers.attacks.powers_blocks import PowersBlocks
from labelinf_privacy.noise.uniform import Uniform
from labelinf_scores.attacks.averaging import Averaging
from labelinf_scores.attacks.class_counts import ClassCounts
from labelinf_scores.attacks.majority import Majority
from labelinf_scores.defences.clip import Clip
from labelinf_scores.defences.permute_labels import PermuteLabels
from labelinf_scores.defences.rounding import RoundScore
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.metrics.squared_euclidean import SquaredEuclidean

FAST = (Clip(epsilon=2**-52),)  # before a float64 scorer: what scikit-learn does, at a tenth of its time
SKEWED = np.array([0] * 20 + [1] * 50 + [2] * 30)


def test_the_baseline_asks_nothing_and_guesses_the_most_frequent_class(play) -> None:
    run_trial = play(Majority(), 100, labels=SKEWED, n_classes=3)
    assert run_trial.outcome.queries == 0
    assert run_trial.accuracy == 0.5
    assert run_trial.promise is None


def test_averaging_beats_asking_once_under_fresh_noise(play, defences) -> None:
    noise = (*FAST, defences.gaussian(std=0.1))
    averaged = play(Averaging(), 100, scorer="float64", defences=noise, queries=1600)
    once = play(PowersBlocks(), 100, scorer="float64", defences=noise, queries=1600)
    assert averaged.outcome.queries == averaged.outcome.evidence["repeats"] * 50 == 1600
    assert averaged.accuracy == 1
    assert once.accuracy < 0.98


@pytest.mark.long
def test_repeats_differ_so_that_remembered_noise_is_averaged_too(play) -> None:
    sticky = (*FAST, ScoreNoise(model=Uniform(tau=0.5), sticky=True))
    assert play(Averaging(), 60, scorer="float64", defences=sticky, queries=60 * 32).accuracy == 1
    assert play(PowersBlocks(), 60, scorer="float64", defences=sticky).accuracy < 0.9


def test_averaging_gets_more_labels_out_of_a_rounded_score(play) -> None:
    """Shrunken gaps round differently, so that the rounding error averages out."""
    rounded = (*FAST, RoundScore(decimals=2))
    run_trial, plain = (
        play(attack, 120, scorer="float64", defences=rounded, queries=600) for attack in (Averaging(), PowersBlocks())
    )
    assert run_trial.outcome.evidence["labels per query"] > plain.outcome.evidence["labels per query"]
    assert run_trial.accuracy > 0.97


def test_averaging_asks_once_where_nothing_is_to_be_averaged(play) -> None:
    run_trial = play(Averaging(), 100)
    assert run_trial.outcome.evidence["repeats"] == 1
    assert run_trial.accuracy == 1
    assert play(Averaging(), 20, n_classes=6, scorer="exact").accuracy == 1


@pytest.mark.parametrize("decimals", [3, 5])
def test_doubling_finds_the_noise_that_nobody_told(play, decimals: int) -> None:
    run_trial = play(Doubling(), 200, defences=(RoundScore(decimals=decimals),))
    assert run_trial.accuracy == 1
    assert 0.2 * 10**-decimals < run_trial.outcome.evidence["tau"] < 8 * 10**-decimals


@pytest.mark.long
def test_doubling_does_not_look_at_the_noise_bound(play, defences) -> None:
    tau = 0.01
    told = play(Doubling(), 60, defences=(defences.extreme(tau=tau, told=True),))
    untold = play(Doubling(), 60, defences=(defences.extreme(tau=tau, told=False),))
    assert told.outcome.evidence == untold.outcome.evidence
    assert untold.accuracy == 1
    assert play(PowersBlocks(), 60, defences=(defences.extreme(tau=tau, told=False),)).accuracy < 0.9


def test_doubling_without_a_clip_widens_the_gaps(play, defences) -> None:
    run_trial = play(Doubling(start=1e-3), 12, scorer="exact", defences=(defences.extreme(tau=5.0, told=False),))
    assert run_trial.accuracy == 1
    assert run_trial.outcome.evidence["tau"] > 5.0


def test_doubling_ends_with_its_budget_and_survives_refusals(play, defences) -> None:
    run_trial = play(Doubling(), 100, queries=7, defences=(RoundScore(decimals=3),))
    assert run_trial.outcome.queries == 7
    refused = play(Doubling(), 10, defences=(defences.refuse(),))
    assert refused.accuracy == max(refused.threat.prior)


@pytest.mark.parametrize("scorer", ["sklearn", "exact"])
def test_secret_order_leaves_the_class_counts_and_nothing_else(play, scorer: str) -> None:
    run_trial = play(ClassCounts(), 100, labels=SKEWED, n_classes=3, scorer=scorer, defences=(PermuteLabels(),))
    assert dict(run_trial.outcome.evidence) == {f"records of class {k}": n for k, n in enumerate((20, 50, 30))}
    assert run_trial.outcome.queries == 2
    assert run_trial.accuracy == 0.5
    assert run_trial.promise is None


def test_counts_are_read_through_noise_by_repeating(play, defences) -> None:
    run_trial = play(ClassCounts(repeats=64), 100, labels=SKEWED, n_classes=3, defences=(defences.gaussian(std=0.5),))
    assert run_trial.outcome.evidence["records of class 1"] == pytest.approx(50, abs=1)


def test_counts_without_an_answer_are_not_made_up(play, defences) -> None:
    run_trial = play(ClassCounts(), 100, labels=SKEWED, n_classes=3, defences=(defences.refuse(),))
    assert dict(run_trial.outcome.evidence) == {}
    assert run_trial.accuracy == 0.5


def test_counting_several_classes_needs_a_loss_with_free_costs(threat_of) -> None:
    attack = ClassCounts()
    assert "rows of any costs" in attack.unsupported_reason(
        threat_of(attack, 9, n_classes=3, loss=SquaredEuclidean(), scorer="float64")
    )


@pytest.mark.parametrize("attack", [Averaging(), Doubling(), PowersBlocks()], ids=lambda a: type(a).__name__)
def test_the_same_generator_gives_the_same_guess(play, defences, attack) -> None:
    noise = (*FAST, defences.gaussian(std=0.2))
    one, two = (play(attack, 40, scorer="float64", defences=noise, queries=200, seed=5) for _ in range(2))
    assert (one.outcome.guess == two.outcome.guess).all()
