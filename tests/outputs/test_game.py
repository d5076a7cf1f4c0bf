"""The game: canaries, members, views, the placebo, and what an attack can reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import ABSTAIN, Guess, LabelSet, Outcome, Setting
from labelinf_core.contracts.errors import ComponentError, InputError, QueryRefusedError
from labelinf_outputs.attacks.loss_inversion import LossInversion
from labelinf_outputs.attacks.threshold import Threshold
from labelinf_outputs.defences.label_rr import LabelRr
from labelinf_outputs.defences.pate import Pate
from labelinf_outputs.defences.rounded_outputs import RoundedOutputs
from labelinf_outputs.game import canaries
from labelinf_outputs.game.channel import OutputChannel
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputOracle, OutputThreat
from labelinf_outputs.game.training import Recipe, Trained, TrainingTask
from labelinf_outputs.game.view import LossOracle, Outputs, View

TREE = "sklearn.tree:DecisionTreeClassifier"


def play(data: LabelSet, attack: OutputAttack, *defences: OutputDefence, trial: int = 0, **settings: Any) -> Outcome:
    channel = OutputChannel(**{"victim": TREE, "references": 2, **settings})
    setting = Setting(data=data, attack=attack, defences=defences)
    return channel.play(setting, curator_rng=np.random.default_rng(trial), attack_rng=np.random.default_rng([trial, 1]))


def test_planted_labels_are_uniform_and_follow_nothing(game_of: Any) -> None:
    """120 members of 30 canaries each: each class within 4.5 standard deviations of one half (p < 1e-5)."""
    _, game = game_of(canaries=0.2, victim="labelinf_outputs.game.mlp:Mlp", epochs=1)
    planted = np.array([game.member(index).planted for index in range(120)])

    assert abs(planted.mean() - 0.5) < 4.5 * 0.5 / np.sqrt(planted.size)
    assert np.abs(planted.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(120)
    assert not np.array_equal(planted[0], planted[1])


def test_the_victim_is_trained_on_the_planted_labels(game_of: Any) -> None:
    _, game = game_of()
    member = game.member(0)

    assert np.array_equal(member.trained, member.planted)
    assert np.array_equal(member.released.argmax(axis=1), member.planted)
    assert member.train_accuracy == 1.0
    assert 0.6 < member.test_accuracy < 1.0


def test_the_label_that_was_trained_on_is_kept_apart_from_the_planted_one(game_of: Any) -> None:
    _, game = game_of(LabelRr(epsilon=0.5))
    member = game.member(0)

    assert np.array_equal(member.released.argmax(axis=1), member.trained)
    assert 0.3 < (member.trained == member.planted).mean() < 0.9


def test_everything_follows_from_the_seed(game_of: Any) -> None:
    first, second, other = (game_of(LabelRr(), seed=seed)[1].member(3) for seed in (1, 1, 2))

    assert np.array_equal(first.planted, second.planted)
    assert np.array_equal(first.released, second.released)
    assert not np.array_equal(first.planted, other.planted)


def test_a_member_is_the_same_whoever_was_trained_before(game_of: Any) -> None:
    _, forward = game_of(LabelRr())
    _, backward = game_of(LabelRr())
    ahead = [forward.member(index).released for index in (0, 1)]
    behind = [backward.member(index).released for index in (1, 0)]

    assert np.array_equal(ahead[0], behind[1])
    assert np.array_equal(ahead[1], behind[0])


def test_the_view_shows_what_it_declares_and_no_more(game_of: Any) -> None:
    plain, game = game_of(references=0)
    shown = game.oracle(plain).query()

    assert (shown.losses, shown.features) == (None, None)
    with pytest.raises(QueryRefusedError, match="the declared view has no reference models"):
        game.oracle(plain).references()

    rich, game = game_of(loss=LossOracle.PLANTED, features=True, references=3)
    shown = game.oracle(rich).query()
    assert shown.losses is not None
    assert shown.features is not None
    assert shown.losses.shape == (30,)
    assert shown.features.shape == (30, 6)
    assert game.oracle(rich).references().log_probabilities.shape == (3, 30, 2)


@pytest.mark.parametrize(("oracle", "label"), [(LossOracle.PLANTED, "planted"), (LossOracle.TRAINED, "trained")])
def test_losses_are_computed_with_the_declared_label(game_of: Any, oracle: LossOracle, label: str) -> None:
    threat, game = game_of(LabelRr(epsilon=0.1), loss=oracle, victim="mlp", epochs=3)
    member = game.member(0)
    losses = game.oracle(threat).query().losses

    expected = -member.own[np.arange(30), getattr(member, label)]
    assert np.array_equal(losses, expected)


def test_a_loss_on_a_label_that_was_not_trained_on_is_not_a_number(game_of: Any) -> None:
    threat, game = game_of(Pate(teachers=2, votes=5), loss=LossOracle.TRAINED)
    member = game.member(0)
    losses = game.oracle(threat).query().losses

    assert np.array_equal(np.isnan(losses), member.trained == ABSTAIN)
    assert np.isnan(losses).any()


def test_logits_are_exact_where_probabilities_saturate(game_of: Any) -> None:
    logits, game = game_of(outputs=Outputs.LOGITS, victim="mlp", epochs=30)
    member = game.member(0)

    assert np.array_equal(game.oracle(logits).query().log_probabilities, member.own)
    rounded, game = game_of(RoundedOutputs(decimals=1), outputs=Outputs.LOGITS, victim="mlp", epochs=30)
    shown = game.oracle(rounded).query().log_probabilities
    np.testing.assert_allclose(np.exp(shown), np.maximum(game.member(0).released, 0.05))


def test_targets_are_never_their_own_references(game_of: Any) -> None:
    threat, game = game_of(references=3)
    planted = [game.member(index).planted.tolist() for index in range(4)]

    for target in range(4):
        seen = game.oracle(threat, target).references().planted.tolist()
        assert sorted(seen) == sorted(planted[:target] + planted[target + 1 :])


def test_the_placebo_recomputes_the_view_with_labels_redrawn_after_training(game_of: Any) -> None:
    threat, game = game_of(loss=LossOracle.PLANTED, victim="mlp", epochs=3)
    real = game.oracle(threat).query()
    sham, redrawn = game.placebo(threat)

    assert np.array_equal(sham.query().probabilities, real.probabilities)
    assert np.array_equal(sham.query().losses, game.member(0).losses(redrawn))
    assert not np.array_equal(redrawn, game.member(0).planted)


def test_a_trial_scores_planted_trained_and_redrawn_labels(records: LabelSet) -> None:
    outcome = play(records, Threshold(), LabelRr(epsilon=0.5))

    assert outcome.n_records == 30
    assert outcome.evidence["training_label_accuracy"] == 1.0
    assert outcome.n_correct < 30
    assert outcome.placebo is not None
    assert outcome.placebo.n_records == 30
    assert outcome.placebo.chance == 0.5
    assert not outcome.placebo.declared


def test_the_bound_has_the_form_of_the_certificate(records: LabelSet, many_classes: LabelSet) -> None:
    mechanism = Pate(teachers=2, votes=150, epsilon=30.0, delta=1e-3)
    played = (play(records, Threshold(), *stages, victim="logistic") for stages in ((), (mechanism,)))
    pure, approximate = (outcome.audited for outcome in played)

    assert pure is not None
    assert approximate is not None
    assert (pure.delta, approximate.delta) == (0.0, 1e-3)
    assert approximate.at_least <= 30.0
    many = play(many_classes, Threshold(), mechanism, victim="memory").audited
    assert many is not None
    assert many.delta == 1e-3


def test_a_loss_oracle_is_caught_by_the_placebo(records: LabelSet) -> None:
    outcome = play(records, LossInversion(), LabelRr(epsilon=0.5), loss=LossOracle.PLANTED, victim="mlp", epochs=3)

    assert outcome.n_correct == outcome.n_records
    assert outcome.placebo is not None
    assert outcome.placebo.n_correct == outcome.placebo.n_records
    assert outcome.placebo.declared


@attrs.frozen(kw_only=True)
class Counting(OutputDefence):
    """Counts trainings."""

    calls: list[int] = attrs.field(factory=list, eq=False)

    def train(self, task: TrainingTask, train: Any, rng: np.random.Generator) -> Trained:
        self.calls.append(1)
        return super().train(task, train, rng)


def test_victims_are_prepared_once_per_defence_and_seed(records: LabelSet) -> None:
    counting = Counting()
    for attack in (Threshold(), Threshold(abstain=0.1), LossInversion()):
        for loss in (LossOracle.NONE, LossOracle.PLANTED):
            if loss is LossOracle.PLANTED or isinstance(attack, Threshold):
                play(records, attack, counting, loss=loss)
    assert len(counting.calls) == 1

    play(records, Threshold(), counting, trial=1)
    assert len(counting.calls) == 2


def test_references_are_trained_when_somebody_asks(game_of: Any) -> None:
    counting = Counting()
    threat, game = game_of(counting, references=3)
    oracle = game.oracle(threat)

    assert len(counting.calls) == 1
    oracle.references()
    oracle.references()
    assert len(counting.calls) == 4


@attrs.frozen(kw_only=True)
class Sure(OutputAttack):
    """Answers what it is told to."""

    labels: tuple[int, ...]
    confidence: tuple[float, ...] | None = None

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        sure = None if self.confidence is None else np.array(self.confidence)
        return Guess(labels=np.array(self.labels), confidence=sure)


@pytest.mark.parametrize("confidence", [None, (1.0,) * 30, (1.0,) * 29])
def test_an_answer_of_the_wrong_shape_is_one_sentence(records: LabelSet, confidence: Any) -> None:
    labels = (0,) * (30 if confidence and len(confidence) == 29 else 29)

    with pytest.raises(ComponentError, match=r"expected \(30,\)|confidence must be 30 numbers, one per guess"):
        play(records, Sure(labels=labels, confidence=confidence))


def test_guesses_are_ranked_by_confidence_without_abstentions() -> None:
    guess = Guess(labels=np.array([1, ABSTAIN, 0, 1]), confidence=np.array([0.1, 9.0, 0.5, 0.9]))

    assert guess.ranked(np.array([1, 1, 1, 1])).tolist() == [True, False, True]
    assert Guess(labels=np.array([1, 0])).ranked(np.array([1, 1])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"canaries": 0.001}, "200 records are too few for canaries=0.001 and test=0.25: there would be 0 canaries"),
        ({"test": 0.001}, "and 0 test records, at least one of each is needed"),
        ({"victim": "nobody"}, "victim 'nobody' must be one of"),
    ],
)
def test_settings_that_do_not_fit_are_one_sentence(records: LabelSet, settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(records, Threshold(), **settings)


def test_labels_without_features_are_one_sentence(records: LabelSet) -> None:
    bare = attrs.evolve(records, features=None)

    with pytest.raises(InputError, match="come without features; the output channel trains on features"):
        OutputChannel().check(bare)
    with pytest.raises(InputError, match="come without features"):
        play(bare, Threshold())


def test_a_component_of_another_channel_is_one_sentence(records: LabelSet) -> None:
    from labelinf_scores.attacks.majority import Majority
    from labelinf_scores.defences.clip import Clip

    with pytest.raises(InputError, match="attack Majority does not belong to the output channel"):
        OutputChannel().threat(Setting(data=records, attack=Majority()))
    with pytest.raises(InputError, match="defence Clip does not belong to the output channel"):
        OutputChannel().threat(Setting(data=records, defences=(Clip(),)))


def test_planted_labels_in_the_view_leave_no_label_dp(records: LabelSet) -> None:
    setting = Setting(data=records, defences=(LabelRr(epsilon=1.0),))

    assert OutputChannel().threat(setting).label_epsilon == 1.0
    assert OutputChannel(loss=LossOracle.TRAINED).threat(setting).label_epsilon == 1.0
    assert OutputChannel(loss=LossOracle.PLANTED).threat(setting).label_epsilon == np.inf


def test_a_view_says_what_it_shows() -> None:
    view = View(resolution=0.1, loss=LossOracle.PLANTED, references=8, features=True)

    assert str(view) == "probabilities, rounded to 0.1, losses with the planted label, 8 reference models, features"
    assert str(View(outputs=Outputs.TOP_ONE)) == "top-1"


def public_reach(start: object) -> Iterator[object]:
    """Everything that public attributes, items and iteration lead to."""
    queue, seen = [start], set()
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, type | str | int | float | bytes):
            continue
        seen.add(id(thing))
        yield thing
        if isinstance(thing, np.ndarray):  # its attributes are arrays again, without end
            continue
        names = [name for name in dir(thing) if not name.startswith("_")]
        queue += [value for name in names if not callable(value := getattr(thing, name, None))]
        if isinstance(thing, list | tuple | set | frozenset | dict):
            queue += thing.values() if isinstance(thing, dict) else thing


@pytest.mark.parametrize("defence", [LabelRr(), RoundedOutputs()])
def test_an_attack_reaches_no_planted_labels_through_its_oracle(game_of: Any, defence: OutputDefence) -> None:
    threat, game = game_of(defence, victim="mlp", epochs=2)
    oracle, truth = game.oracle(threat), game.member(0).planted
    things = [*public_reach(oracle), *public_reach(oracle.query()), *public_reach(oracle.references())]

    arrays = [thing for thing in things if isinstance(thing, np.ndarray)]
    assert len(arrays) >= 5
    assert not any(array.shape == truth.shape and np.array_equal(array, truth) for array in arrays)


def test_the_cache_tells_plans_apart(records: LabelSet) -> None:
    plan = canaries.TrainingPlan(victim=TREE, recipe=Recipe(), canaries=0.2, test=0.25)

    assert canaries.prepared(plan, records, (), 5) is canaries.prepared(plan, records, (), 5)
    assert canaries.prepared(plan, records, (LabelRr(),), 5) is not canaries.prepared(plan, records, (), 5)
    assert canaries.prepared(plan, records, (), 6) is not canaries.prepared(plan, records, (), 5)


def test_the_threat_model_counts_canaries_and_is_uniform(many_classes: LabelSet) -> None:
    threat = OutputChannel(canaries=0.1).threat(Setting(data=many_classes))

    assert isinstance(threat, OutputThreat)
    assert (threat.n_records, threat.n_training, threat.baseline) == (18, 180, 0.25)


def test_utility_is_the_accuracy_on_unseen_records(records: LabelSet) -> None:
    channel = OutputChannel(victim="mlp", epochs=60, canaries=0.05)

    plain, noisy = (
        channel.utility(records, defences, np.random.default_rng(0))["test_accuracy"]
        for defences in ((), (LabelRr(epsilon=0.1),))
    )

    assert plain > 0.8
    assert noisy < plain - 0.1
