"""The channel keeps its own contract, and its certificate holds against its strongest attack."""

import math

import attrs
import numpy as np
import pytest
from labelinf_equality.attacks import Partition
from labelinf_equality.bounds import EqualityLabelDp
from labelinf_equality.defences import RandomisedAnswers
from labelinf_equality.game import EqualityChannel, EqualityDefence

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.testing import Check, checks_of, discovery_imports

LABELS = LabelSet(
    labels=np.arange(20, dtype=np.intp) % 3 // 2, class_names=("0", "1"), title="twenty", provenance="made"
)


@pytest.mark.parametrize("check", checks_of("equality"), ids=str)
def test_contract(check: Check) -> None:
    check.run()


def test_discovery_imports_nothing_heavy() -> None:
    assert discovery_imports("labelinf_equality.plugin") == frozenset()


def play(*defences: EqualityDefence, queries: int = 0, repeat: int = 1, games: int = 200) -> float:
    channel = EqualityChannel(queries=queries)
    setting = Setting(data=LABELS, attack=Partition(repeat=repeat), defences=defences)
    rngs = [np.random.default_rng(seed).spawn(2) for seed in range(games)]
    played = [channel.play(setting, curator_rng=one, attack_rng=two) for one, two in rngs]
    return sum(game.n_correct for game in played) / sum(game.n_records for game in played)


def test_without_noise_only_the_names_of_the_groups_are_guessed() -> None:
    assert play() > 0.9


def test_the_ceiling_holds_against_repeated_questions_about_one_pair() -> None:
    """Odds of 7 : 3 times (11 / 9) for every answer: .9923 of the labels at most after 20, .7771 after 2, by hand."""
    for queries, expected in ((20, 0.9923), (2, 0.7771)):
        threat = EqualityChannel(queries=queries).threat(Setting(data=LABELS, defences=(RandomisedAnswers(flip=0.45),)))
        (ceiling,) = EqualityLabelDp().ceilings(threat)

        assert ceiling.accuracy == pytest.approx(expected, abs=5e-5)
        # 4 000 labels: a share within 4 points of its expectation with probability above 1 - 1e-6.
        assert play(RandomisedAnswers(flip=0.45), queries=queries, repeat=1) <= ceiling.accuracy + 0.04


@pytest.mark.parametrize("flips", [(0.2, 0.3), (0.5, 0.1), (0.0, 0.4)])
def test_two_coins_are_one(flips: tuple[float, float]) -> None:
    defences = tuple(RandomisedAnswers(flip=flip) for flip in flips)
    threat = EqualityChannel(queries=5).threat(Setting(data=LABELS, defences=defences))

    one, two = flips
    assert threat.facts.error == pytest.approx(one * (1 - two) + (1 - one) * two)


def test_behind_a_stage_that_says_nothing_nothing_is_certified() -> None:
    @attrs.frozen(kw_only=True)
    class Silent(RandomisedAnswers):
        effects = EqualityDefence.effects

    for pipeline in ((Silent(),), (RandomisedAnswers(flip=0.4), Silent()), (Silent(), RandomisedAnswers(flip=0.4))):
        threat = EqualityChannel(queries=5).threat(Setting(data=LABELS, defences=pipeline))

        assert math.isinf(threat.label_epsilon)
        assert EqualityLabelDp().ceilings(threat) == ()
