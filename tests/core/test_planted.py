"""A channel of a few lines stands on the base of planted games: the core plants, redraws, counts and audits."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Channel, Defence, Guess, LabelSet, Setting
from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.contracts.planted import PlantedChannel, Round
from labelinf_core.contracts.threat import ThreatModel


@attrs.frozen(kw_only=True)
class Whispered(PlantedChannel):
    """Tells every label with a sign that is right with probability ``loud``."""

    attacks: ClassVar[type[Attack]] = Attack
    defences: ClassVar[type[Defence]] = Defence
    loud: float = 1.0

    def known(self, data: LabelSet) -> ThreatModel:
        return ThreatModel(n_records=40, n_classes=data.n_classes, prior=(1 / data.n_classes,) * data.n_classes)

    def release(self, data: LabelSet, labels: NDArray[np.intp], threat: Any, rng: np.random.Generator) -> Any:
        told = rng.random(labels.size) < self.loud
        return np.where(told, labels, rng.integers(0, threat.n_classes, labels.size))


@attrs.frozen(kw_only=True)
class Listener(Attack):
    """Believes what it sees."""

    shape: int = 40

    def run(self, view: Any, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.resize(view, self.shape), confidence=np.arange(self.shape))


@attrs.frozen(kw_only=True)
class Stage(Defence):
    """Does not say what it does."""


DATA = LabelSet(labels=np.arange(100) % 4, class_names=tuple("abcd"), title="made", provenance="made")


def played(channel: Channel, attack: Attack, seed: int = 0, data: LabelSet = DATA) -> Any:
    rngs = {"curator_rng": np.random.default_rng(seed), "attack_rng": np.random.default_rng(seed + 1)}
    return channel.play(Setting(data=data, attack=attack), **rngs)


def test_a_label_that_is_told_is_counted_and_proves_an_epsilon_and_the_placebo_is_chance() -> None:
    outcome = played(Whispered(), Listener())
    assert (outcome.n_correct, outcome.n_records, outcome.queries) == (40, 40, 1)
    assert outcome.audited.at_least == pytest.approx(outcome.audited.provable)
    assert outcome.audited.certified == np.inf
    assert outcome.placebo.n_records == 40
    assert outcome.placebo.n_correct < 20
    assert outcome.placebo.chance == 0.25


def test_nothing_that_is_told_is_chance_and_proves_nothing() -> None:
    outcomes = [played(Whispered(loud=0.0), Listener(), seed) for seed in range(20)]
    assert 0.15 < np.mean([outcome.n_correct / 40 for outcome in outcomes]) < 0.35  # 800 draws: 6 deviations
    assert sum(outcome.audited.at_least > 0 for outcome in outcomes) <= 4  # each with probability 5 % at most


def test_the_same_generators_plant_the_same_labels() -> None:
    assert played(Whispered(), Listener()).truth.tolist() == played(Whispered(), Listener()).truth.tolist()
    assert played(Whispered(), Listener()).truth.tolist() != played(Whispered(), Listener(), 5).truth.tolist()


def test_labels_come_uniformly_whatever_the_shares_of_the_label_set() -> None:
    uneven = attrs.evolve(DATA, labels=np.array([0] * 97 + [1, 2, 3]))
    setting = Setting(data=uneven, attack=Listener())
    planted = [
        Whispered().play(setting, curator_rng=np.random.default_rng(seed), attack_rng=np.random.default_rng(1)).truth
        for seed in range(30)
    ]
    counts = np.bincount(np.concatenate([labels for labels in planted if labels is not None]), minlength=4)
    assert counts.min() > 200  # of 1 200; 300 are expected, with a deviation of 15


def test_labels_that_the_core_has_not_planted_prove_no_epsilon() -> None:
    """A channel that draws samples with their labels, nine in ten of one class, and shows nothing at all."""

    @attrs.frozen(kw_only=True)
    class Samples(Whispered):
        def begin(self, data: LabelSet, threat: Any, rng: np.random.Generator) -> Round:
            return Round(labels=(rng.random(40) < 0.1).astype(np.intp), view=np.zeros(40, dtype=np.intp))

    @attrs.frozen(kw_only=True)
    class Sworn(Samples):
        uniform: ClassVar[bool] = True

        def begin(self, data: LabelSet, threat: Any, rng: np.random.Generator) -> Round:
            return super().begin(data, threat, rng)

    uneven = attrs.evolve(DATA, labels=np.repeat([0, 1, 2, 3], [88, 10, 1, 1]))
    outcome = played(Samples(), Listener(), data=uneven)
    assert outcome.n_correct > 30
    assert (outcome.audited, outcome.placebo, outcome.chance) == (None, None, 0.88)
    with pytest.raises(ComponentError, match="the values that it planted are not uniform"):
        played(Sworn(), Listener(), data=uneven)
    with pytest.raises(ComponentError, match="planted have not the class shares of the labels"):
        played(Samples(), Listener())


def test_a_guess_of_another_shape_is_the_attacks_failure() -> None:
    with pytest.raises(ComponentError, match=r"guessed an array of shape \(39,\), expected \(40,\)"):
        played(Whispered(), Listener(shape=39))


def test_components_of_another_channel_are_refused() -> None:
    @attrs.frozen(kw_only=True)
    class Narrow(Whispered):
        attacks: ClassVar[type[Attack]] = Listener
        defences: ClassVar[type[Defence]] = type("Other", (Defence,), {})

    with pytest.raises(InputError, match="attack Attack does not belong to the narrow channel"):
        Narrow().threat(Setting(data=DATA, attack=Attack()))
    with pytest.raises(InputError, match="defence Stage does not belong to the narrow channel"):
        Narrow().threat(Setting(data=DATA, defences=(Stage(),)))


def test_a_channel_says_what_its_adversary_sees() -> None:
    @attrs.frozen(kw_only=True)
    class Silent(Whispered):
        release = PlantedChannel.release

    with pytest.raises(NotImplementedError, match="Silent says in release"):
        played(Silent(), Listener())
