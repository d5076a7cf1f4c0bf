"""What defences declare, what follows from it, and what the run counts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.bounds.planted_labels import PlantedLabels
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.effects import (
    Coarsened,
    Mixed,
    OutputFacts,
    Randomised,
    Retrained,
    TopOne,
    Unknown,
    allowed_uses,
    fold,
)
from labelinf_outputs.game.output import OutputDefence, OutputThreat
from labelinf_outputs.game.training import Train, Trained, TrainingTask, one_hot
from labelinf_outputs.game.uses import uses
from labelinf_outputs.game.view import LossOracle, Outputs, View
from labelinf_privacy.randomised_response import keep_probability

START = OutputFacts(view=View())


@attrs.frozen(kw_only=True)
class Bagging(OutputDefence):
    """Trains several models on everything and returns the last; declares what it is told to, or nothing at all."""

    models: int = 5
    declares: tuple[Effect[Any], ...] | None = None

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        return [train(task, rng) for _ in range(self.models)][-1]

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        return super().effects(threat) if self.declares is None else self.declares


def certificate(data: LabelSet, *defences: OutputDefence, **settings: Any) -> str:
    return OutputChannel(**settings).threat(Setting(data=data, defences=defences)).certificate


def play(data: LabelSet, *defences: OutputDefence) -> int:
    channel = OutputChannel(victim="sklearn.tree:DecisionTreeClassifier", references=0)
    setting = Setting(data=data, attack=Threshold(), defences=defences)
    return channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1)).n_correct


def test_a_stage_that_declares_nothing_leaves_no_certificate(records: LabelSet) -> None:
    """Bagging in front of randomised response used to be held to the ceiling of one use: "held, certified"."""
    assert certificate(records, Bagging(), LabelRr(epsilon=1.0)) == "none"
    assert certificate(records, LabelRr(epsilon=1.0), Bagging()) == "none"
    threat = OutputChannel().threat(Setting(data=records, defences=(Bagging(), LabelRr(epsilon=1.0))))
    assert PlantedLabels().ceilings(threat) == ()
    assert play(records, Bagging(), LabelRr(epsilon=1.0)) >= 0  # attacks still play


def test_a_declaration_that_the_run_contradicts_fails_its_defence(records: LabelSet) -> None:
    lying = Bagging(declares=())
    message = "defence Bagging trains on one label 5 times and declares 1: a certificate behind it would be false"

    assert certificate(records, lying, LabelRr(epsilon=1.0)) != "none"
    with pytest.raises(InputError, match=message):
        play(records, lying, LabelRr(epsilon=1.0))
    assert play(records, Bagging(declares=(Retrained(times=5),)), LabelRr(epsilon=1.0)) >= 0


def test_uses_compose(records: LabelSet) -> None:
    bagging = Bagging(models=3, declares=(Retrained(times=3),))

    assert certificate(records, bagging, LabelRr(epsilon=0.2)) == "label-DP, epsilon = 0.6"
    assert certificate(records, bagging, bagging, LabelRr(epsilon=0.2)) == "label-DP, epsilon = 1.8"
    assert certificate(records, LabelRr(epsilon=0.2), bagging) == "label-DP, epsilon = 0.2"


@pytest.mark.parametrize(("times", "epsilon", "n_classes"), [(2, 0.5, 2), (3, 0.4, 3)])
def test_the_certificate_of_several_uses_holds_for_every_answer(times: int, epsilon: float, n_classes: int) -> None:
    """By enumeration of all answers of randomised response that is used several times; the bound is attained."""
    keep = keep_probability(epsilon, n_classes)

    def probability(label: int, answers: tuple[int, ...]) -> float:
        return math.prod(keep if a == label else (1 - keep) / (n_classes - 1) for a in answers)

    worst = max(
        math.log(probability(one, answers) / probability(two, answers))
        for answers in itertools.product(range(n_classes), repeat=times)
        for one, two in itertools.permutations(range(n_classes), 2)
    )

    assert worst == pytest.approx(fold([Retrained(times=times), Randomised(epsilon=epsilon)], START).label_epsilon)


EFFECTS = st.one_of(
    st.builds(Randomised, epsilon=st.floats(0, 5), delta=st.floats(0, 1)),
    st.builds(Retrained, times=st.integers(1, 9)),
    st.just(Mixed()),
    st.builds(Coarsened, step=st.floats(1e-6, 1)),
    st.just(TopOne()),
)


@pytest.mark.long
@given(st.lists(EFFECTS, max_size=5), st.lists(EFFECTS, max_size=5))
@settings(max_examples=200)
def test_nothing_is_certified_beyond_what_nobody_knows(before: list[Any], after: list[Any]) -> None:
    facts = fold([*before, Unknown(stage="x"), *after], START)

    assert math.isinf(facts.label_epsilon)
    assert math.isinf(facts.times)
    assert facts.label_delta == 0


@pytest.mark.long
@given(st.lists(EFFECTS, max_size=6), EFFECTS)
@settings(max_examples=200)
def test_the_first_mechanism_decides_and_nothing_behind_it_changes_that(effects: list[Any], more: Any) -> None:
    facts, further = fold(effects, START), fold([*effects, more], START)

    assert further.times >= facts.times
    if facts.certified:
        assert (further.label_epsilon, further.label_delta) == (facts.label_epsilon, facts.label_delta)
    assert 0 <= further.label_delta <= 1


def test_a_mechanism_answers_for_its_own_trainings() -> None:
    assert allowed_uses(()) == 1
    assert allowed_uses((Retrained(times=4),)) == 4
    for effect in (Mixed(), Unknown(stage="x"), Randomised(epsilon=1.0)):
        assert allowed_uses((effect,)) == math.inf


def test_a_planted_label_in_view_leaves_no_certificate_and_nobody_sets_one(records: LabelSet) -> None:
    assert certificate(records, LabelRr(epsilon=1.0), loss=LossOracle.PLANTED) == "none"
    with pytest.raises(TypeError, match="label_epsilon"):
        OutputThreat(n_records=3, n_classes=2, prior=(0.5, 0.5), label_epsilon=1.0)  # type: ignore[call-arg]


def test_effects_are_a_tuple_of_effects(records: LabelSet) -> None:
    with pytest.raises(TypeError, match="effects of Bagging must be a tuple of effects, got list"):
        certificate(records, Bagging(declares=[TopOne()]))  # type: ignore[arg-type]


def test_the_view_is_what_the_effects_leave_of_it() -> None:
    facts = fold([Coarsened(step=0.1), Coarsened(step=0.01), TopOne()], START)

    assert (facts.view.resolution, facts.view.outputs) == (0.1, Outputs.TOP_ONE)


def task(records: list[int] | None, rows: int = 0) -> TrainingTask:
    n = rows or len(records or ())
    known = None if records is None else np.array(records, dtype=np.intp)
    return TrainingTask(features=np.zeros((n, 1)), targets=one_hot(np.zeros(n, dtype=np.intp), 2), records=known)


@pytest.mark.parametrize(
    ("given_to", "passed", "expected"),
    [
        (task([0, 1, 2]), [], 0),
        (task([0, 1, 2]), [task([0, 1, 2])], 1),
        (task([0, 1, 2]), [task([0]), task([1, 2])], 1),
        (task([0, 1, 2]), [task([2, 0, 2]), task([2])], 3),
        (task([5, 5, 7]), [task([5, 5, 5, 5])], 2),  # it was given twice and used four times
        (task([0, 1]), [task([2])], math.inf),
        (task(None, 2), [task([0])], math.inf),
        (task([0, 1]), [task(None, 2)], math.inf),
        (task([0, 1]), [task([0, 1], rows=3)], math.inf),
        (task(None, 0), [], math.inf),
    ],
)
def test_uses_are_counted_per_record(given_to: TrainingTask, passed: list[TrainingTask], expected: float) -> None:
    assert uses(given_to, passed) == expected


@attrs.frozen(kw_only=True)
class Sequel(OutputDefence):
    """Remembers something of one model while it is shown."""

    def start(self, threat: OutputThreat, rng: np.random.Generator) -> Any:
        return Remembering()

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        return ()


class Remembering:
    def __init__(self) -> None:
        self.n_records = 0

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        self.n_records += task.n_records
        return train(task, rng)

    def release(self, probabilities: Any, rng: np.random.Generator) -> Any:
        assert self.n_records == 150
        return probabilities


def test_a_guard_lives_as_long_as_one_model(game_of: Any) -> None:
    _, game = game_of(Sequel())

    assert game.member(0).intact
    assert game.member(1).intact
