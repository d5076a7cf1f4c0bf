"""The game: networks and gradients against slow references, releases, scoring, and bad input."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Attack, Defence, LabelSet, Overlap, Setting
from labelinf_core.contracts.errors import InputError
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.guesses import PriorGuess, UniformGuess
from labelinf_gradients.bounds.identifiability import Identifiability
from labelinf_gradients.defences.conduct import Aggregate, DropBias, FederatedAveraging, Mixup
from labelinf_gradients.game.channel import GradientChannel, cosine
from labelinf_gradients.game.clients import Client, Federation, Samples, scaled, train
from labelinf_gradients.game.effects import Batched, LocalSteps, MixedPairs, Smoothed, Withheld
from labelinf_gradients.game.gradient import GradientOracle, GradientThreat, LabelFamily, Shared
from labelinf_gradients.game.networks import Activation, Layer, Perceptron, softmax

HOST = Host.load(strict=True)
DEAR = {"sample-by-sample", "rlg", "variance-search", "joint-recovery"}  # the contract has them play by default
ATTACKS = [item for item in HOST.catalogue(Kind.ATTACK) if item.descriptor.channel == "gradient"]
DEFENCES = [item for item in HOST.catalogue(Kind.DEFENCE) if item.descriptor.channel == "gradient"]


@pytest.fixture(scope="module")
def data() -> LabelSet:
    rng = np.random.default_rng(0)
    centres, labels = rng.random((6, 9)), rng.integers(6, size=400)
    return LabelSet(
        labels=labels,
        class_names=tuple("abcdef"),
        title="made",
        provenance="made",
        features=centres[labels] + 0.1 * rng.normal(size=(400, 9)),
    )


CHANNEL = GradientChannel(hidden=(12,), epochs=1, samples=12, auxiliary=40, features_public=True, bias=True)


@pytest.mark.parametrize("activation", list(Activation))
def test_every_gradient_is_the_derivative_of_the_loss(activation: Activation) -> None:
    rng = np.random.default_rng(1)
    network = Perceptron.random((4, 6, 5, 3), rng, activation=activation)
    x, labels = rng.normal(size=(2, 4)), rng.dirichlet(np.ones(3), 2)

    gradients = network.gradients(x, labels)

    def loss(moved: Perceptron) -> np.ndarray:
        return -(labels * np.log(softmax(moved.logits(x)))).sum(axis=1)

    for name, shape in network.shapes.items():
        for at in np.ndindex(shape):
            step = np.zeros(shape)
            step[at] = 1e-6
            slope = (loss(network.moved({name: step})) - loss(network.moved({name: -step}))) / 2e-6
            assert gradients[name][(slice(None), *at)] == pytest.approx(slope, abs=1e-7)
    mean = network.mean_gradient(x, labels)
    assert all(np.allclose(mean[name], part.mean(axis=0)) for name, part in gradients.items())


def test_training_fits_and_zero_epochs_change_nothing(data: LabelSet) -> None:
    rng = np.random.default_rng(0)
    x, labels = scaled(data), np.eye(6)[data.labels]
    start = Perceptron.random((9, 32, 6), rng)

    trained = train(start, x, labels, epochs=30, rng=rng)

    assert np.mean(trained.logits(x).argmax(axis=1) == data.labels) > 0.95
    assert train(start, x, labels, epochs=0, rng=rng) is start


def test_a_federation_is_made_once_for_equal_data_and_settings(data: LabelSet) -> None:
    settings = {"network": "mlp", "hidden": (5,), "activation": Activation.RELU, "bias": False, "epochs": 1}
    one = Federation.start(data, **settings, precision="float32", seed=3)
    two = Federation.start(attrs.evolve(data, title="copy"), **settings, precision="float32", seed=3)

    assert one is two
    assert sorted([*one.trained_on, *one.held_out]) == list(range(400))


def test_a_release_is_the_mean_gradient_and_layers_can_stay_at_home() -> None:
    rng = np.random.default_rng(0)
    network = Perceptron.random((4, 6, 3), rng)
    threat = GradientThreat(
        n_records=6,
        n_classes=3,
        prior=(1 / 3,) * 3,
        effects=(Batched(size=3),),
        shared=Shared.ALL,
        has_bias=True,
        precision="float64",
    )
    samples = Samples(inputs=rng.random((2, 3, 4)), labels=rng.dirichlet(np.ones(3), (2, 3)))

    sent = Client.start(network, threat, rng).releases(samples)

    for number in range(2):
        expected = network.mean_gradient(samples.inputs[number], samples.labels[number])
        assert all(np.allclose(sent[name][number], part) for name, part in expected.items())
    fewer = Client.start(
        network, attrs.evolve(threat, shared=Shared.LAST, effects=(Batched(size=3), Withheld())), rng
    ).releases(samples)
    assert list(fewer) == ["layers.1.weight"]


def test_local_steps_follow_gradient_descent() -> None:
    rng = np.random.default_rng(0)
    network = Perceptron.random((4, 6, 3), rng, bias=False)
    threat = GradientThreat(
        n_records=2,
        n_classes=3,
        prior=(1 / 3,) * 3,
        effects=(Batched(size=2), LocalSteps(steps=3, rate=0.1)),
        shared=Shared.ALL,
        precision="float64",
    )
    samples = Samples(inputs=rng.random((1, 2, 4)), labels=rng.dirichlet(np.ones(3), (1, 2)))

    sent = Client.start(network, threat, rng).releases(samples)

    moved = network
    for _ in range(3):
        step = moved.mean_gradient(samples.inputs[0], samples.labels[0])
        moved = moved.moved({name: -0.1 * part for name, part in step.items()})
    travelled = network.layers[1].weights - moved.layers[1].weights
    assert np.allclose(sent["layers.1.weight"][0], travelled / 0.3)


def test_samples_are_labelled_as_the_family_says() -> None:
    rng = np.random.default_rng(0)
    x, classes = rng.random((300, 4)), rng.integers(3, size=300)
    threat = GradientThreat(n_records=60, n_classes=3, prior=(1 / 3,) * 3, effects=(Batched(size=2),))

    labelling = {
        LabelFamily.ONE_HOT: (),
        LabelFamily.SMOOTHING: (Smoothed(most=0.4),),
        LabelFamily.MIXUP: (MixedPairs(),),
    }
    for family in LabelFamily:
        told = attrs.evolve(threat, effects=(*threat.effects, *labelling[family]))
        assert told.family is family
        drawn = Samples.draw(x, classes, told, rng)
        labels = drawn.labels.reshape(-1, 3)
        assert drawn.inputs.shape == (30, 2, 4)
        assert labels.sum(axis=1) == pytest.approx(np.ones(60))
        if family is LabelFamily.ONE_HOT:
            assert set(np.unique(labels)) == {0, 1}
        if family is LabelFamily.SMOOTHING:
            assert labels.min(axis=1) == pytest.approx(np.median(labels, axis=1))
            assert labels.min() <= 0.4 / 3
        if family is LabelFamily.MIXUP:
            assert ((labels > 0).sum(axis=1) <= 2).all()
    with pytest.raises(InputError, match="120 different samples are needed and there are 100; lower 'samples'"):
        Samples.draw(x[:100], classes, attrs.evolve(threat, effects=(MixedPairs(),)), rng)


def test_the_order_within_a_batch_does_not_count() -> None:
    guessed, truth = np.array([2, 1, 1, 0, 0, 0]), np.array([1, 2, 0, 0, 1, 0])

    assert Overlap(size=3).placed(guessed, truth).tolist() == [1, 2, 1, 0, 0, 0]
    assert (Overlap(size=1).placed(guessed, truth) == guessed).all()


def build(kind: Kind, name: str, cls: type) -> object:
    return Builder(HOST).build(kind, {"name": name, **getattr(cls, "example_parameters", {})}, "test")


@pytest.mark.parametrize(
    "item",
    [pytest.param(item, marks=pytest.mark.slow) if item.descriptor.name in DEAR else item for item in ATTACKS],
    ids=lambda item: item.descriptor.name,
)
def test_every_attack_guesses_every_record_or_says_why_not(item: object, data: LabelSet) -> None:
    attack = build(Kind.ATTACK, item.descriptor.name, item.load())  # type: ignore[attr-defined]
    assert isinstance(attack, Attack)
    played = 0
    for channel in (CHANNEL, attrs.evolve(CHANNEL, bias=False, shared=Shared.ALL), attrs.evolve(CHANNEL, batch=3)):
        for defences in ((), (build(Kind.DEFENCE, "gradient-noise", DropBias),)):
            setting = Setting(data=data, attack=attack, defences=defences)  # type: ignore[arg-type]
            if attack.unsupported_reason(channel.threat(setting)):
                continue
            outcomes = [
                channel.play(setting, curator_rng=np.random.default_rng(5), attack_rng=np.random.default_rng(6))
                for _ in range(2)
            ]
            assert outcomes[0].guess is not None
            assert outcomes[0].guess.tolist() == outcomes[1].guess.tolist()
            assert outcomes[0].guess.shape == (12,)
            assert 0 <= outcomes[0].n_correct <= outcomes[0].n_records == 12
            played += 1
    # What needs a single noise in double precision, dropped entries, or a bias, has tests of its own.
    assert played or item.descriptor.name in ("hidden-bias", "zero-mask", "visible-entries")  # type: ignore[attr-defined]


@pytest.mark.parametrize("item", DEFENCES, ids=lambda item: item.descriptor.name)
def test_every_defence_stands_in_the_channel_and_no_labels_lie_about(item: object, data: LabelSet) -> None:
    defence = build(Kind.DEFENCE, item.descriptor.name, item.load())  # type: ignore[attr-defined]
    assert isinstance(defence, Defence)
    channel = attrs.evolve(CHANNEL, features_public=False)
    seen: list[GradientOracle] = []

    @attrs.frozen(kw_only=True)
    class Spy(PriorGuess):
        def run(self, oracle: GradientOracle, rng: np.random.Generator) -> object:  # type: ignore[override]
            seen.append(oracle)
            return super().run(oracle, rng)

    outcome = channel.play(
        Setting(data=data, attack=Spy(), defences=(defence,)),
        curator_rng=np.random.default_rng(5),
        attack_rng=np.random.default_rng(6),
    )

    (oracle,) = seen
    truth = outcome.truth
    assert truth is not None
    arrays = [*oracle.releases.values(), *(oracle.auxiliary or ())]
    assert all(np.isfinite(array).all() for array in arrays)
    assert not any(array.shape == truth.shape and np.array_equal(array, truth) for array in arrays)
    assert oracle.inputs is None
    utility = channel.utility(data, (defence,), np.random.default_rng(0))
    assert -1 <= utility["gradient cosine"] <= 1.0000001


def test_exact_labels_and_their_error_are_reported(data: LabelSet) -> None:
    outcome = GradientChannel(hidden=(12,), samples=30, targets=LabelFamily.MIXUP, auxiliary=10).play(
        Setting(data=data, attack=ExactSolver()),
        curator_rng=np.random.default_rng(1),
        attack_rng=np.random.default_rng(2),
    )

    assert outcome.n_correct == 30
    assert outcome.evidence["soft labels within 1e-3"] == 1.0
    assert outcome.evidence["median L1"] < 1e-4
    assert outcome.evidence["unique"] == 30


def test_batches_are_scored_against_the_best_guess_of_counts(data: LabelSet) -> None:
    setting = Setting(data=data, attack=UniformGuess(), defences=(Aggregate(batch=6),))
    threat = CHANNEL.threat(setting)

    assert threat.batch == 6
    assert threat.n_records == 12
    assert threat.baseline > 0.5 > max(threat.prior)


def test_public_inputs_are_the_mixed_ones(data: LabelSet) -> None:
    channel = attrs.evolve(CHANNEL, targets=LabelFamily.MIXUP)
    threat = channel.threat(Setting(data=data, defences=(Mixup(),)))

    assert threat.family is LabelFamily.MIXUP
    assert threat.features_public


def test_cosine_of_releases() -> None:
    one, other = {"a": np.array([[3.0, 0.0]])}, {"a": np.array([[3.0, 4.0]])}

    assert cosine(one, other) == pytest.approx(0.6)
    assert cosine(one, {"a": np.zeros((1, 2))}) == 0


def test_bad_settings_are_one_sentence(data: LabelSet) -> None:
    bare = attrs.evolve(data, features=None)
    with pytest.raises(InputError, match="label set 'made' has no features; the gradient channel needs them"):
        CHANNEL.check(bare)
    with pytest.raises(InputError, match=r"samples=2 must be >= the batch of 8"):
        attrs.evolve(CHANNEL, samples=2).threat(Setting(data=data, defences=(Aggregate(),)))
    with pytest.raises(InputError, match=r"attack str does not belong to the gradient channel"):
        CHANNEL.threat(Setting(data=data, attack="idlg"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"auxiliary=500 must be < 200, the records kept from training"):
        attrs.evolve(CHANNEL, auxiliary=500).play(
            Setting(data=data, attack=PriorGuess()),
            curator_rng=np.random.default_rng(0),
            attack_rng=np.random.default_rng(0),
        )
    with pytest.raises(ValueError, match="rate"):
        FederatedAveraging(rate=0.0)


def test_a_gradient_that_is_not_finite_is_one_sentence() -> None:
    network = Perceptron(layers=(Layer(weights=np.full((3, 4), np.nan)),))
    threat = GradientThreat(n_records=2, n_classes=3, prior=(1 / 3,) * 3)
    samples = Samples(inputs=np.ones((2, 1, 4)), labels=np.eye(3)[[[0], [1]]])
    rng = np.random.default_rng(0)

    with pytest.raises(InputError, match="the gradient of release 0 is not finite in float32: look for overflowing"):
        Client.start(network, threat, rng).releases(samples)
    huge = Perceptron(layers=(Layer(weights=np.zeros((3, 4))),))
    inputs = np.ones((2, 1, 4))
    inputs[1] = 1e300
    with pytest.raises(InputError, match="the gradient of release 1 is not finite in float32"):
        Client.start(huge, threat, rng).releases(attrs.evolve(samples, inputs=inputs))


@pytest.mark.parametrize(("activation", "status", "right"), [("relu", "unique", 1.0), ("tanh", "ambiguous", 0.0)])
def test_two_classes_are_ambiguous_unless_features_have_a_sign(activation: str, status: str, right: float) -> None:
    rng = np.random.default_rng(0)
    two = LabelSet(
        labels=rng.integers(2, size=300),
        class_names=("a", "b"),
        title="two",
        provenance="made",
        features=rng.normal(size=(300, 7)),
    )
    channel = GradientChannel(hidden=(12,), activation=Activation(activation), samples=40, auxiliary=20)
    setting = Setting(data=two, attack=ExactSolver())

    outcome = channel.play(setting, curator_rng=np.random.default_rng(1), attack_rng=np.random.default_rng(2))

    assert outcome.evidence[status] == 40
    assert outcome.n_correct >= 40 * right
    (line,) = Identifiability().evaluate(channel.threat(setting))
    assert "two classes: always ambiguous unless the features' sign is known" in line.conditions


def test_a_network_that_is_neither_ours_nor_a_module_is_one_sentence(data: LabelSet) -> None:
    with pytest.raises(InputError, match="'resnet' must be 'mlp' or 'module:function'"):
        attrs.evolve(CHANNEL, network="resnet").check(data)


@pytest.mark.parametrize("written", ["gradient(targets=mixup, shared=all)", "gradient(targets='mixup', shared='all')"])
def test_words_need_no_quotes_on_the_command_line(written: str) -> None:
    channel = Builder(HOST).build(Kind.CHANNEL, written, "--channel")

    assert (channel.targets, channel.shared) == (LabelFamily.MIXUP, Shared.ALL)
    with pytest.raises(InputError, match="activation: 'gelu' must be one of relu, sigmoid, tanh"):
        Builder(HOST).build(Kind.CHANNEL, "gradient(activation=gelu)", "--channel")


def test_bounds_need_no_features(data: LabelSet) -> None:
    threat = CHANNEL.threat(Setting(data=attrs.evolve(data, features=None)))

    assert threat.n_classes == 6
