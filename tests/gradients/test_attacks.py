"""Attacks on single samples, one by one: what each needs, what it answers, and what it answers when it cannot know."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import UnfitError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.attacks.adaptive import DefenceAware
from labelinf_gradients.attacks.bayes import KnownFeatures, OwnSamples
from labelinf_gradients.attacks.bias import HiddenBias, LastBias
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.guesses import ModelPrediction, PriorGuess, UniformGuess
from labelinf_gradients.attacks.idlg import Idlg
from labelinf_gradients.attacks.instances import SampleBySample
from labelinf_gradients.attacks.noisy import FilterDirection, Likelihood, MatchedFilter
from labelinf_gradients.attacks.rehearsed import RehearsedCounts
from labelinf_gradients.game.effects import (
    Batched,
    EntriesRounded,
    LocalSteps,
    MixedPairs,
    NoiseAdded,
    NormClipped,
    Smoothed,
)
from labelinf_gradients.game.gradient import (
    GradientAttack,
    GradientGuess,
    GradientOracle,
    GradientThreat,
    LabelFamily,
    Shared,
)
from labelinf_gradients.game.networks import Activation, Layer, Network, Perceptron, softmax
from labelinf_papers.attacks.variance_search import VarianceSearch
from labelinf_papers.search.loss import Objective

N, K = 40, 6
SMOOTHED = Smoothed(most=0.5)
LABELLING = {LabelFamily.ONE_HOT: (), LabelFamily.SMOOTHING: (SMOOTHED,)}
THREAT = GradientThreat(n_records=N, n_classes=K, prior=(0.3, 0.2, 0.2, 0.1, 0.1, 0.1))


@attrs.frozen(kw_only=True, eq=False)
class Game:
    oracle: GradientOracle
    labels: np.ndarray

    def plays(self, attack: GradientAttack) -> GradientGuess:
        guess = attack.run(self.oracle, np.random.default_rng(1))
        assert guess.labels.shape == (N,)
        return guess  # type: ignore[return-value]

    def accuracy(self, attack: GradientAttack) -> float:
        return float(np.mean(self.plays(attack).labels == self.labels.argmax(axis=1)))


def game(
    threat: GradientThreat = THREAT,
    *,
    bias: bool = False,
    activation: Activation = Activation.RELU,
    noise: float = 0.0,
    own: int = 0,
    silent: int = 0,
) -> Game:
    """A game whose inputs say nothing about labels. The first ``silent`` gradients are zero."""
    rng = np.random.default_rng(0)
    network = Perceptron.random((8, 16, K), rng, bias=bias, activation=activation)
    x, factor = rng.random((N, 8)), rng.uniform(0, 0.5, (N, 1))
    labels = np.eye(K)[rng.integers(K, size=N)]
    if threat.family is LabelFamily.SMOOTHING:
        labels = (1 - factor) * labels + factor / K
    releases = {}
    for name, part in network.gradients(x, labels).items():
        if threat.bias_shared or not name.endswith("bias"):
            releases[name] = part + rng.normal(0, noise, part.shape) if noise else part.copy()
            releases[name][:silent] = 0
    seen: Network = network
    oracle = GradientOracle(
        threat,
        seen,
        releases,
        auxiliary=(rng.random((own, 8)), rng.integers(K, size=own)) if own else None,
        inputs=x[:, None] if threat.features_public else None,
    )
    return Game(oracle=oracle, labels=labels)


def test_blind_guesses_look_at_class_shares_only() -> None:
    played = game()

    assert set(played.plays(PriorGuess()).labels) == {0}
    assert len(set(played.plays(UniformGuess()).labels)) > 1
    batches = UniformGuess().run(
        GradientOracle(attrs.evolve(THREAT, effects=(Batched(size=8),), n_records=16), played.oracle.network, {}),
        np.random.default_rng(0),
    )
    for start in (0, 8):
        counts = np.bincount(batches.labels[start : start + 8], minlength=K)
        assert set(counts) == {1, 2}


def test_the_model_predicts_where_inputs_are_public() -> None:
    played = game(attrs.evolve(THREAT, features_public=True))
    network, inputs = played.oracle.network, played.oracle.inputs
    assert inputs is not None
    expected = softmax(network.classifier(network.features(inputs[:, 0]))).argmax(axis=1)

    assert (played.plays(ModelPrediction()).labels == expected).all()
    assert ModelPrediction().unsupported_reason(THREAT) == "needs public features"


def test_the_sign_rule_needs_no_sign_until_features_have_both() -> None:
    relu, tanh = game(), game(activation=Activation.TANH)

    assert relu.accuracy(Idlg()) == relu.accuracy(Idlg(use_sign=False)) == 1
    assert not tanh.oracle.nonnegative
    assert tanh.accuracy(Idlg()) == 1


@pytest.mark.parametrize("family", [LabelFamily.ONE_HOT, LabelFamily.SMOOTHING])
def test_the_exact_solver_returns_soft_labels_and_counts_what_is_certain(family: LabelFamily) -> None:
    played = game(attrs.evolve(THREAT, effects=LABELLING[family]), silent=3)

    guess = played.plays(ExactSolver())

    assert guess.evidence["no_information"] == 3
    assert guess.evidence["unique"] == N - 3
    assert (guess.labels[:3] == 0).all()  # the majority class
    assert guess.soft is not None
    assert guess.soft[:3] == pytest.approx(1 / K)
    assert np.abs(guess.soft - played.labels)[3:].max() < 1e-9
    automatic = played.plays(ExactSolver(family="auto"))
    assert (automatic.labels == guess.labels).all()


@pytest.mark.parametrize("target", list(Objective))
def test_the_papers_search_answers_in_soft_labels_and_says_when_it_gave_up(target: Objective) -> None:
    family = LabelFamily.ONE_HOT if target is not Objective.VARIANCE else LabelFamily.SMOOTHING
    played = game(attrs.evolve(THREAT, effects=LABELLING[family]), silent=2)

    guess = played.plays(VarianceSearch(target=target, population=60, iterations=25))

    assert guess.soft is not None
    assert 2 <= guess.evidence["gave up"] <= N // 2
    assert (guess.labels[:2] == 0).all()
    # The sum of absolute entries is smallest on all of the feasible interval: any label of it is taken.
    least = 0.45 if target is Objective.NEGATIVES else 0.8
    assert np.mean(guess.labels == played.labels.argmax(axis=1)) > least
    if target is Objective.VARIANCE:
        assert np.mean(np.abs(guess.soft - played.labels).sum(axis=1) < 1e-3) > 0.8


@pytest.mark.parametrize("attack", [LastBias(), HiddenBias()])
def test_bias_gradients_give_soft_labels_and_zero_ones_the_majority(attack: GradientAttack) -> None:
    threat = attrs.evolve(THREAT, effects=(SMOOTHED,), has_bias=True, shared=Shared.ALL)
    played = game(threat, bias=True, silent=2)

    guess = played.plays(attack)

    assert guess.soft is not None
    assert np.abs(guess.soft - played.labels)[2:].max() < 1e-9
    assert (guess.labels[:2] == 0).all()


def test_a_hidden_bias_needs_a_hidden_layer() -> None:
    network = Perceptron(layers=(Layer(weights=np.zeros((K, 8)), bias=np.zeros(K)),))
    releases = network.gradients(np.ones((N, 8)), np.eye(K)[np.zeros(N, dtype=int)])
    oracle = GradientOracle(attrs.evolve(THREAT, has_bias=True, shared=Shared.ALL), network, releases)

    with pytest.raises(ValueError, match="needs a hidden layer with a bias"):
        HiddenBias().run(oracle, np.random.default_rng(0))


def test_under_noise_what_is_known_decides() -> None:
    """Public inputs beat own samples, which beat a mean direction; all beat chance."""
    noisy = attrs.evolve(THREAT, effects=(NoiseAdded(std=0.15),), auxiliary=300)
    public = game(attrs.evolve(noisy, features_public=True), noise=0.15, own=300).accuracy(KnownFeatures())
    played = game(noisy, noise=0.15, own=300)
    own, mean = played.accuracy(OwnSamples()), played.accuracy(MatchedFilter(direction=FilterDirection.MEAN))
    others = [played.accuracy(MatchedFilter(direction=d)) for d in (FilterDirection.ONES, FilterDirection.SINGULAR)]

    assert public >= own >= mean - 0.1
    assert min(public, own, mean, *others, played.accuracy(Likelihood())) > 0.5


@pytest.mark.parametrize(
    ("changes", "played"),
    [
        ({}, ExactSolver),
        ({"has_bias": True}, LastBias),
        ({"features_public": True}, KnownFeatures),
        ({"effects": (NoiseAdded(std=0.1),), "auxiliary": 50}, OwnSamples),
        ({"effects": (NoiseAdded(std=0.1),)}, MatchedFilter),
        ({"effects": (EntriesRounded(),), "auxiliary": 50}, MatchedFilter),
        ({"effects": (NormClipped(norm=1.0),)}, ExactSolver),
        ({"effects": (Unknown(stage="mine"),), "auxiliary": 50}, MatchedFilter),
        ({"effects": (NoiseAdded(std=0.1), SMOOTHED)}, Likelihood),
        ({"effects": (Batched(size=2),)}, SampleBySample),
        ({"effects": (Batched(size=2),), "precision": "bfloat16", "auxiliary": 50}, RehearsedCounts),
    ],
)
def test_the_adaptive_attack_picks_by_the_threat_model(changes: dict[str, object], played: type) -> None:
    threat = attrs.evolve(THREAT, **changes)  # type: ignore[arg-type]

    chosen = DefenceAware().choose(threat)

    assert isinstance(chosen, played)
    assert not chosen.unsupported_reason(threat)


def test_the_adaptive_attack_goes_on_where_an_attack_does_not_suit(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfit(*_: object) -> None:
        raise UnfitError("of a tied head")

    monkeypatch.setattr(ExactSolver, "run", unfit)

    assert game().plays(DefenceAware()).evidence["played"] == "MatchedFilter"


def test_the_adaptive_attack_says_what_it_played() -> None:
    assert game().plays(DefenceAware()).evidence["played"] == "ExactSolver"


@pytest.mark.parametrize(
    ("attack", "changes", "reason"),
    [
        (ExactSolver(), {"effects": (NoiseAdded(std=0.1),)}, "needs unaltered gradients"),
        (ExactSolver(), {"effects": (Unknown(stage="mine"),)}, "needs unaltered gradients"),
        (ExactSolver(), {"effects": (LocalSteps(steps=3, rate=0.1),)}, "needs unaltered gradients"),
        (ExactSolver(), {"effects": (Batched(size=2),)}, "needs one sample per release"),
        (
            ExactSolver(),
            {"n_classes": 2, "prior": (0.5, 0.5), "effects": (MixedPairs(),)},
            "2 classes leave a continuum of mixup labels",
        ),
        (Idlg(), {"effects": (Batched(size=2),)}, "needs one sample per release"),
        (LastBias(), {}, "needs the gradient of the last bias"),
        (HiddenBias(), {"has_bias": True}, "needs the gradients of all layers"),
        (KnownFeatures(), {}, "needs public features"),
        (OwnSamples(), {}, "needs noise of known size"),
        (OwnSamples(), {"effects": (NoiseAdded(std=0.1),)}, "needs auxiliary samples"),
        (OwnSamples(), {"effects": (NoiseAdded(std=0.1), MixedPairs())}, "needs one-hot labels"),
        (MatchedFilter(), {}, "needs auxiliary samples"),
        (VarianceSearch(), {"has_bias": True}, "bias"),
    ],
)
def test_what_cannot_be_played_says_why(attack: GradientAttack, changes: dict[str, object], reason: str) -> None:
    assert reason in attack.unsupported_reason(attrs.evolve(THREAT, **changes))  # type: ignore[arg-type]


def test_attacks_of_this_channel_refuse_other_channels() -> None:
    other = ThreatModel(n_records=2, n_classes=2, prior=(0.5, 0.5))
    attacks = (ExactSolver(), Idlg(), LastBias(), HiddenBias(), Likelihood(), KnownFeatures(), OwnSamples())

    assert {attack.unsupported_reason(other) for attack in attacks} == {"needs the gradient channel"}
