"""The numbers that the audit is built for, on real data; ``benchmarks/outputs.py`` has them at full size."""

from __future__ import annotations

import numpy as np
import pytest

from labelinf_core.contracts.components import Setting
from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.proportions import clopper_pearson, p_value
from labelinf_data.bundled import BreastCancer
from labelinf_outputs.attacks.calibrated import Calibrated
from labelinf_outputs.attacks.delta_margin import DeltaMargin
from labelinf_outputs.attacks.lira import Lira
from labelinf_outputs.attacks.loss_inversion import LossInversion
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.defences.label_rr import LabelRr, ResamplingRr
from labelinf_outputs.game.canaries import CanaryGame
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.output import OutputAttack, OutputDefence
from labelinf_outputs.game.view import LossOracle
from labelinf_outputs.labels.digits_parity import DigitsParity

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def memorising() -> tuple[object, CanaryGame]:
    """Breast cancer, 85 canaries, randomised response at epsilon 1, six models that memorise everything."""
    channel = OutputChannel(epochs=200, loss=LossOracle.PLANTED, references=5)
    data, defences = BreastCancer().load(), (LabelRr(epsilon=1.0),)
    return channel.threat(Setting(data=data, defences=defences)), CanaryGame(channel.plan, data, defences, 0)


def counts(memorising: tuple[object, CanaryGame], attack: OutputAttack) -> tuple[int, int, int, float]:
    """Correct planted labels, canaries, correct placebo labels, share of trained labels, over six models."""
    threat, game = memorising
    planted = sham = n = 0
    trained = []
    for target in range(6):
        guess = attack.run(game.oracle(threat, target), RNG).labels  # type: ignore[arg-type]
        placebo, redrawn = game.placebo(threat, target)  # type: ignore[arg-type]
        planted += int((guess == game.member(target).planted).sum())
        sham += int((attack.run(placebo, RNG).labels == redrawn).sum())
        trained.append(float((guess == game.member(target).trained).mean()))
        n += guess.size
    return planted, n, sham, float(np.mean(trained))


@pytest.mark.long
@pytest.mark.parametrize("attack", [Threshold(), Calibrated(), Lira()], ids=lambda item: type(item).__name__)
def test_honest_attacks_reach_the_ceiling_and_do_not_exceed_it(
    memorising: tuple[object, CanaryGame], attack: OutputAttack
) -> None:
    """510 canaries, ceiling .7311: an honest attack fails one of the last three with probability below 2 % each."""
    correct, n, sham, trained = counts(memorising, attack)
    ceiling = epsilon_bounds.label_dp_ceiling(1.0, 2)

    assert trained > 0.98
    assert clopper_pearson(correct, n, 0.98).high > ceiling
    assert p_value(correct, n, ceiling) > 0.01
    assert p_value(sham, n, 0.5) > 0.01


@pytest.mark.parametrize("attack", [DeltaMargin(), LossInversion()], ids=lambda item: type(item).__name__)
def test_attacks_that_read_the_loss_exceed_it_and_are_caught(
    memorising: tuple[object, CanaryGame], attack: OutputAttack
) -> None:
    correct, n, sham, _ = counts(memorising, attack)

    assert p_value(correct, n, epsilon_bounds.label_dp_ceiling(1.0, 2)) < 1e-9
    assert p_value(sham, n, 0.5) < 1e-9


def accused(defence: OutputDefence, seeds: int) -> int:
    """Count the models, each with 600 canaries, that are said to be less private than epsilon .3."""
    channel = OutputChannel(victim="sklearn.tree:DecisionTreeClassifier", canaries=0.4452, references=0)
    data = DigitsParity().load()
    threat = channel.threat(Setting(data=data, defences=(defence,)))
    assert threat.n_records == 600
    found = 0
    for seed in range(seeds):
        game = CanaryGame(channel.plan, data, (defence,), seed)
        hits = Threshold().run(game.oracle(threat), RNG).ranked(game.member(0).planted)
        found += epsilon_bounds.one_run_epsilon(hits, n_canaries=600).epsilon > 0.3
    return found


def test_resampling_at_a_nominal_epsilon_is_caught_from_one_model() -> None:
    """A model shows .787 of its planted labels; one in a million stays below what is caught."""
    assert accused(ResamplingRr(epsilon=0.3), 10) >= 9


@pytest.mark.long
@pytest.mark.parametrize("seeds", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_randomised_response_is_not_accused(seeds: int) -> None:
    """At most 5 % of models are; of 20 more than 3 with probability below 1.6 %, for these seeds it is at most one."""
    assert accused(LabelRr(epsilon=0.3), seeds) <= 0.05 * seeds
