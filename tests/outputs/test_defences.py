"""Every defence in a game: what it changes, what it promises, and what it leaves."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import ABSTAIN, LabelSet, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.bounds.planted_labels import PlantedLabels
from labelinf_outputs.defences.alibi import Alibi, Prior
from labelinf_outputs.defences.label_rr import LabelRr, ResamplingRr, RrWithPrior
from labelinf_outputs.defences.lp_2st import Lp2st
from labelinf_outputs.defences.lp_mst import LpMst
from labelinf_outputs.defences.output_noise import OutputNoise
from labelinf_outputs.defences.pate import Pate
from labelinf_outputs.defences.pate_fm import PateFm
from labelinf_outputs.defences.recipes import EarlyStopping, TargetSmoothing, WeightDecay
from labelinf_outputs.defences.rounded_outputs import RoundedOutputs
from labelinf_outputs.defences.soft_labels import SoftLabels
from labelinf_outputs.defences.temperature import Temperature
from labelinf_outputs.defences.top_one_only import TopOneOnly
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.output import OutputDefence
from labelinf_outputs.game.training import Recipe, Trained, TrainingTask, one_hot
from labelinf_outputs.game.view import Outputs
from labelinf_privacy.noise.gaussian import Gaussian

CERTIFIED = [
    *(LabelRr(), RrWithPrior(), Lp2st(), LpMst(), Alibi(), Alibi(prior=Prior.LEARNED)),
    *(Pate(), PateFm(), ResamplingRr()),
]
UNCERTIFIED = [
    SoftLabels(),
    EarlyStopping(),
    WeightDecay(),
    TargetSmoothing(),
    RoundedOutputs(),
    TopOneOnly(),
    Temperature(),
    OutputNoise(),
]


class Recorder:
    """The innermost stage: keeps every task it was given and predicts the uniform distribution."""

    def __init__(self) -> None:
        self.tasks: list[TrainingTask] = []

    def __call__(self, task: TrainingTask, rng: np.random.Generator) -> Trained:
        self.tasks.append(task)
        return Trained(model=Uniform(task.n_classes), targets=task.targets)


class Uniform:
    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes

    def log_probabilities(self, features: Any) -> Any:
        return np.full((len(features), self._n_classes), -np.log(self._n_classes))


def trained(defence: OutputDefence, labels: Any, n_classes: int = 2) -> tuple[Trained, list[TrainingTask]]:
    recorder = Recorder()
    features = np.arange(len(labels), dtype=float)[:, None]
    task = TrainingTask(features=features, targets=one_hot(np.asarray(labels), n_classes))
    return defence.train(task, recorder, np.random.default_rng(0)), recorder.tasks


def kind(defence: OutputDefence) -> str:
    return type(defence).__name__


@pytest.mark.parametrize("defence", CERTIFIED, ids=kind)
def test_a_mechanism_states_its_guarantee_and_gets_its_ceiling(records: LabelSet, defence: OutputDefence) -> None:
    threat = OutputChannel().threat(Setting(data=records, defences=(defence,)))
    (ceiling,) = PlantedLabels().ceilings(threat)

    assert math.isfinite(threat.label_epsilon)
    assert threat.certificate.startswith("label-DP, epsilon = ")
    assert 0.5 < ceiling.accuracy < 1
    assert "label-DP with epsilon" in ceiling.conditions


@pytest.mark.parametrize("defence", UNCERTIFIED, ids=kind)
def test_the_others_certify_nothing(records: LabelSet, defence: OutputDefence) -> None:
    threat = OutputChannel().threat(Setting(data=records, defences=(defence,)))

    assert PlantedLabels().ceilings(threat) == ()
    assert threat.certificate == "none"
    assert threat.label_epsilon == math.inf


@pytest.mark.parametrize("defence", [*CERTIFIED, *UNCERTIFIED], ids=kind)
def test_every_defence_plays(game_of: Any, defence: OutputDefence) -> None:
    threat, game = game_of(defence, victim="mlp", epochs=5, references=1)
    member = game.member(0)
    guess = Threshold().run(game.oracle(threat), np.random.default_rng(0))

    assert guess.labels.shape == (30,)
    assert ((member.released >= 0) & (member.released <= 1)).all()
    assert 0.3 < member.test_accuracy <= 1


@pytest.mark.parametrize("defence", [*CERTIFIED, *UNCERTIFIED], ids=kind)
def test_every_defence_plays_with_many_classes(game_of: Any, many_classes: LabelSet, defence: OutputDefence) -> None:
    threat, game = game_of(defence, data=many_classes, victim="mlp", epochs=5, references=1)

    assert game.oracle(threat).query().probabilities.shape == (threat.n_records, 4)


@pytest.mark.parametrize(
    ("defence", "keep"), [(LabelRr(epsilon=1.0), 0.7310586), (ResamplingRr(epsilon=1.0), 0.8655293)]
)
def test_labels_survive_as_often_as_stated(defence: OutputDefence, keep: float) -> None:
    """20 000 labels: within 5 standard deviations (p < 6e-7)."""
    labels = np.random.default_rng(1).integers(0, 2, 20_000)
    _, (task,) = trained(defence, labels)

    survived = float((task.targets.argmax(axis=1) == labels).mean())
    assert abs(survived - keep) < 5 * math.sqrt(keep * (1 - keep) / labels.size)


def test_the_two_stages_of_lp_2st_use_every_label_once() -> None:
    labels = np.random.default_rng(2).integers(0, 3, 1000)
    result, (first, both) = trained(Lp2st(epsilon=1.0), labels, 3)
    rows = first.features[:, 0].astype(int)

    assert (first.n_records, both.n_records) == (500, 1000)
    assert np.array_equal(both.targets[rows], first.targets)  # the first half keeps the answers it gave
    assert np.array_equal(result.targets, both.targets)
    assert np.array_equal(one_hot(labels, 3).sum(axis=0), np.bincount(labels))  # the labels given in are intact


def test_the_stages_of_lp_mst_use_every_label_once_and_keep_what_was_answered() -> None:
    labels = np.random.default_rng(2).integers(0, 3, 900)
    _, (first, second, last) = trained(LpMst(epsilon=1.0, stages=3), labels, 3)

    assert [task.n_records for task in (first, second, last)] == [300, 600, 900]
    for earlier in (first, second):
        assert np.array_equal(last.targets[earlier.features[:, 0].astype(int)], earlier.targets)


def test_a_teacher_of_pate_fm_sees_labels_of_its_own_part_only() -> None:
    """Change every label outside the part: the teacher is given the same."""
    tasks = []
    for labels in (np.arange(40) % 2, np.where(np.arange(40) < 10, np.arange(40) % 2, 1)):
        recorder = Recorder()
        task = TrainingTask(features=np.arange(40.0)[:, None], targets=one_hot(labels, 2))
        PateFm(sure=0.4).teach(task, np.arange(10), recorder, np.random.default_rng(0))
        tasks.append(recorder.tasks)

    assert [task.n_records for task in tasks[0]] == [10, 50]
    for one, two in zip(*tasks, strict=True):
        assert np.array_equal(one.targets, two.targets)
        assert np.array_equal(one.features, two.features)


def test_a_teacher_of_pate_fm_believes_itself_from_its_threshold_on() -> None:
    """What is believed with exactly that probability counts: the recorder's models believe one half of two classes."""
    task = TrainingTask(features=np.arange(40.0)[:, None], targets=one_hot(np.arange(40) % 2, 2))
    for sure, trained in ((0.5, 2), (0.51, 1)):
        recorder = Recorder()
        PateFm(sure=sure).teach(task, np.arange(10), recorder, np.random.default_rng(0))
        assert len(recorder.tasks) == trained


def test_a_mechanism_leaves_the_labels_it_was_given_alone() -> None:
    for defence in CERTIFIED:
        targets = one_hot(np.arange(40) % 2, 2)
        task = TrainingTask(features=np.arange(40.0)[:, None], targets=targets)
        defence.train(task, Recorder(), np.random.default_rng(0))
        assert np.array_equal(targets, one_hot(np.arange(40) % 2, 2))


def test_the_student_of_pate_sees_votes_only() -> None:
    labels = np.arange(60) % 2
    result, tasks = trained(Pate(teachers=3, votes=10), labels)

    assert [task.n_records for task in tasks] == [20, 20, 20, 10]
    assert sorted(np.concatenate([task.features[:, 0] for task in tasks[:3]])) == list(range(60))
    seen = ~np.isnan(result.targets).any(axis=1)
    assert seen.sum() == 10
    assert np.array_equal(np.flatnonzero(seen), np.sort(tasks[3].features[:, 0]))
    assert (result.training_labels[~seen] == ABSTAIN).all()


def test_soft_labels_come_from_models_that_never_saw_the_record() -> None:
    labels = np.arange(50) % 2
    result, tasks = trained(SoftLabels(folds=5), labels)

    assert [task.n_records for task in tasks] == [40] * 5 + [50]
    np.testing.assert_allclose(result.targets, 0.5)
    half, _ = trained(SoftLabels(folds=5, weight=0.5), labels)
    np.testing.assert_allclose(half.targets, (one_hot(labels, 2) + 0.5) / 2)


@pytest.mark.parametrize(
    ("defence", "recipe"),
    [
        (EarlyStopping(epochs=7), Recipe(epochs=7)),
        (WeightDecay(factor=0.5), Recipe(weight_decay=0.5)),
        (TargetSmoothing(smoothing=0.3), Recipe(label_smoothing=0.3)),
    ],
    ids=kind,
)
def test_a_recipe_reaches_the_victim(defence: OutputDefence, recipe: Recipe) -> None:
    _, (task,) = trained(defence, [0, 1])

    assert task.recipe == recipe


def test_defences_combine_in_the_order_in_which_data_flow(game_of: Any) -> None:
    _, game = game_of(
        LabelRr(epsilon=0.5), EarlyStopping(epochs=3), RoundedOutputs(decimals=4), TopOneOnly(), victim="mlp"
    )
    member = game.member(0)

    assert (member.trained != member.planted).any()
    assert np.isin(member.released, (0.0, 1.0)).all()
    assert member.own.argmax(axis=1).tolist() == member.released.argmax(axis=1).tolist()


def test_the_first_mechanism_decides_what_is_guaranteed(records: LabelSet) -> None:
    def epsilon(*defences: OutputDefence) -> float:
        return OutputChannel().threat(Setting(data=records, defences=defences)).label_epsilon

    assert epsilon(LabelRr(epsilon=1.0), Lp2st(epsilon=3.0)) == 1.0
    assert epsilon(Lp2st(epsilon=3.0), LabelRr(epsilon=1.0)) == 3.0
    assert epsilon(EarlyStopping(), LabelRr(epsilon=2.0), RoundedOutputs()) == 2.0


@pytest.mark.parametrize("defence", CERTIFIED, ids=kind)
def test_a_mechanism_after_soft_labels_is_one_sentence(game_of: Any, defence: OutputDefence) -> None:
    _, game = game_of(SoftLabels(weight=0.5, folds=2), defence, victim="mlp", epochs=2)

    with pytest.raises(InputError, match="needs hard labels; put it before the defence that softens them"):
        game.member(0)


@pytest.mark.parametrize("defence", CERTIFIED, ids=kind)
def test_a_mechanism_behind_mixed_labels_certifies_nothing(records: LabelSet, defence: OutputDefence) -> None:
    """One label reaches many targets before it is perturbed: its own perturbation does not hide it."""

    def certificate(*defences: OutputDefence) -> str:
        return OutputChannel().threat(Setting(data=records, defences=defences)).certificate

    assert certificate(SoftLabels(), defence) == "none"
    assert certificate(defence, SoftLabels()) != "none"


def test_rr_with_prior_answers_with_the_top_classes_only(game_of: Any, many_classes: LabelSet) -> None:
    prior = (0.1, 0.4, 0.4, 0.1)
    _, (task,) = trained(RrWithPrior(prior=prior, top=2), np.arange(400) % 4, 4)
    assert set(task.targets.argmax(axis=1)) == {1, 2}

    _, (task,) = trained(RrWithPrior(prior=(0.97, 0.01, 0.01, 0.01), epsilon=0.1), np.arange(40) % 4, 4)
    assert set(task.targets.argmax(axis=1)) == {0}


def test_a_prior_of_the_wrong_length_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"prior=\[0.5, 0.5\] must be 3 shares, one for every class"):
        trained(RrWithPrior(prior=(0.5, 0.5)), [0, 1, 2], 3)


def test_the_adversary_is_told_how_outputs_are_coarsened(records: LabelSet) -> None:
    def view(*defences: OutputDefence) -> Any:
        return OutputChannel().threat(Setting(data=records, defences=defences)).view

    assert view(RoundedOutputs(decimals=2)).resolution == 0.01
    assert view(OutputNoise(model=Gaussian(scale=0.2))).resolution == 0.2
    assert view(RoundedOutputs(decimals=1), RoundedOutputs(decimals=3)).resolution == 0.1
    assert view(TopOneOnly()).outputs is Outputs.TOP_ONE


def test_noisy_outputs_are_probabilities_and_differ_from_the_models_own() -> None:
    probabilities = np.array([[1.0, 0.0]] * 500)
    noisy = OutputNoise(model=Gaussian(scale=0.5)).release(probabilities, np.random.default_rng(0))

    np.testing.assert_allclose(noisy.sum(axis=1), 1)
    assert (noisy >= 0).all()
    assert np.unique(noisy).size > 100


def test_every_defence_is_hashable() -> None:
    assert len({hash(defence) for defence in [*CERTIFIED, *UNCERTIFIED]}) > 10
    assert hash(LabelRr(epsilon=1.0)) == hash(LabelRr(epsilon=1.0))


@pytest.mark.parametrize(
    ("cls", "parameter", "message"),
    [
        (LabelRr, {"epsilon": -1.0}, "'epsilon' must be >= 0: -1.0"),
        (Alibi, {"epsilon": 0.0}, "'epsilon' must be > 0: 0.0"),
        (Pate, {"teachers": 1}, "'teachers' must be >= 2: 1"),
        (TargetSmoothing, {"smoothing": 1.0}, "'smoothing' must be < 1: 1.0"),
        (SoftLabels, {"folds": 1}, "'folds' must be >= 2: 1"),
    ],
)
def test_a_parameter_out_of_range_is_refused(cls: Any, parameter: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cls(**parameter)


def test_bounds_say_what_canaries_can_prove(records: LabelSet) -> None:
    threat = OutputChannel().threat(Setting(data=records, defences=(LabelRr(epsilon=1.0),)))
    provable, accuracy = PlantedLabels().evaluate(threat)

    assert provable.title == "epsilon that 30 canaries can prove"
    assert provable.value == pytest.approx(math.log(0.0125 ** (1 / 30) / (1 - 0.0125 ** (1 / 30))))
    assert accuracy.value == pytest.approx(0.7310586, abs=1e-7)
    assert PlantedLabels().evaluate(attrs.evolve(threat, effects=())) == (provable,)


def test_under_a_delta_canaries_prove_less(records: LabelSet) -> None:
    def provable(defence: OutputDefence) -> Any:
        return PlantedLabels().evaluate(OutputChannel().threat(Setting(data=records, defences=(defence,))))[0]

    assert provable(Pate(delta=1e-3)).value < provable(LabelRr()).value
    assert provable(Pate(delta=1e-3)).conditions.endswith("delta = 0.001")
