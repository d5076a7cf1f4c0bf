"""Every certificate under the strongest attack, and what is left without one: real digits, a trained network."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Guess, LabelSet, Overlap, Setting
from labelinf_data.bundled import Digits
from labelinf_gradients import certificates
from labelinf_gradients.attacks.adaptive import DefenceAware
from labelinf_gradients.attacks.bayes import KnownFeatures, OwnSamples
from labelinf_gradients.attacks.bias import HiddenBias, LastBias
from labelinf_gradients.attacks.exact import ExactSolver
from labelinf_gradients.attacks.guesses import ModelPrediction
from labelinf_gradients.attacks.idlg import Idlg
from labelinf_gradients.attacks.noisy import FilterDirection, Likelihood, MatchedFilter
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedGaussian, ClippedLaplace, GradientClip
from labelinf_gradients.defences.coarse import Quantise, Sign
from labelinf_gradients.defences.conduct import Aggregate, DropBias, FederatedAveraging, LabelSmoothing, Mixup
from labelinf_gradients.defences.noise import GradientNoise
from labelinf_gradients.defences.sparse import Prune, RandomSparse, TopK
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence, GradientOracle, LabelFamily, Shared
from labelinf_privacy.label_dp import approximate_accuracy, pure_accuracy
from labelinf_privacy.noise.gaussian import Gaussian

ATTACKS: tuple[GradientAttack, ...] = (
    Idlg(),
    *(MatchedFilter(direction=direction) for direction in FilterDirection),
    Likelihood(),
    OwnSamples(),
    KnownFeatures(),
    ModelPrediction(),
    LastBias(),
    HiddenBias(),
    ExactSolver(),
    DefenceAware(),
)
CHANNEL = GradientChannel(hidden=(32,), epochs=2, samples=200, auxiliary=300)
TRIALS = 2


@pytest.fixture(scope="module")
def data() -> LabelSet:
    return Digits().load()


@attrs.frozen(kw_only=True, eq=False)
class Everyone(GradientAttack):
    """Lets every attack that can be played look at the same releases, and keeps what each of them guessed."""

    seed: int
    guesses: list[Guess] = attrs.field(factory=list)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        able = [attack for attack in ATTACKS if not attack.unsupported_reason(oracle.threat)]
        self.guesses.extend(attack.run(oracle, np.random.default_rng(self.seed)) for attack in able)
        return self.guesses[0]


def strongest(channel: GradientChannel, data: LabelSet, *defences: GradientDefence) -> tuple[float, float]:
    """Return the accuracy of the strongest attack and its standard deviation at most."""
    right, count = np.zeros(1), 0
    for seed in range(TRIALS):
        everyone = Everyone(seed=seed + 99)
        setting = Setting(data=data, attack=everyone, defences=defences)
        rngs = (np.random.default_rng(seed), np.random.default_rng(seed))
        played = channel.play(setting, curator_rng=rngs[0], attack_rng=rngs[1])
        batch, truth = played.n_records // played.queries, np.asarray(played.truth)
        right = right + [
            np.count_nonzero(Overlap(size=batch).placed(g.labels, truth) == truth) for g in everyone.guesses
        ]
        count += played.n_records
    return float(right.max()) / count, 0.5 / math.sqrt(count)


def certified(channel: GradientChannel, data: LabelSet, *defences: GradientDefence) -> float:
    threat = channel.threat(Setting(data=data, defences=defences))
    return min((line.accuracy for line in GradientCertificate().ceilings(threat)), default=1.0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("defences", "ceiling"),
    [
        ((ClippedGaussian(multiplier=0.5),), 0.764),
        ((ClippedGaussian(multiplier=1.0),), 0.389),
        ((ClippedGaussian(multiplier=2.0),), 0.217),
        pytest.param((ClippedGaussian(multiplier=2.0, exposures=4),), 0.389, marks=pytest.mark.slow),
        pytest.param((GradientClip(norm=0.5), ClippedGaussian(multiplier=1.0)), 0.217, marks=pytest.mark.slow),
        pytest.param((TopK(share=0.1), ClippedGaussian(multiplier=1.0)), 0.389, marks=pytest.mark.slow),
        pytest.param((ClippedLaplace(epsilon=1.0),), 0.165, marks=pytest.mark.slow),
        ((ClippedLaplace(epsilon=4.0),), 0.739),
    ],
    ids=lambda item: "+".join(type(part).__name__ for part in item) if isinstance(item, tuple) else str(item),
)
def test_no_attack_beats_a_certificate(data: LabelSet, defences: tuple[GradientDefence, ...], ceiling: float) -> None:
    certificate = certified(CHANNEL, data, *defences)

    accuracy, deviation = strongest(CHANNEL, data, *defences)

    assert certificate == pytest.approx(ceiling, abs=0.012)  # the digits' classes are not quite equally frequent
    # Four standard deviations of the best of ten attacks: a false alarm in fewer than one of 3 000 runs.
    assert accuracy <= certificate + 4 * deviation


@pytest.mark.parametrize(
    "defences",
    [
        pytest.param((Sign(), ClippedGaussian(multiplier=2.0)), marks=pytest.mark.slow),
        (Sign(), ClippedLaplace(epsilon=1.0)),
        (GradientClip(norm=0.01), Sign(), GradientNoise(model=Gaussian(scale=0.1))),
        (GradientClip(norm=0.5), Quantise(bits=2), GradientNoise(model=Gaussian(scale=0.1))),
    ],
    ids=lambda item: "+".join(type(part).__name__ for part in item),
)
def test_nothing_is_certified_where_a_clipped_gradient_is_changed_before_its_noise(
    data: LabelSet, defences: tuple[GradientDefence, ...]
) -> None:
    """Signs undo the clip: attacks read almost every label through noise that hides a clipped gradient."""
    threat = CHANNEL.threat(Setting(data=data, defences=defences))

    assert certified(CHANNEL, data, *defences) == 1.0
    assert math.isinf(threat.label_epsilon)
    assert strongest(CHANNEL, data, *defences)[0] > 0.9


def test_attacks_come_close_to_the_gaussian_certificate_so_it_is_worth_something(data: LabelSet) -> None:
    accuracy, _ = strongest(CHANNEL, data, ClippedGaussian(multiplier=0.5))

    assert accuracy > 0.55


@pytest.mark.parametrize(
    ("defences", "least"),
    [
        ((GradientClip(norm=0.1),), 0.98),
        ((Sign(),), 0.98),
        ((Quantise(bits=2),), 0.98),
        ((Quantise(bits=2, stochastic=True),), 0.98),
        ((Quantise(bits=8),), 0.98),
        ((TopK(share=0.02),), 0.98),
        ((Prune(share=0.9),), 0.98),
        ((RandomSparse(share=0.1),), 0.8),
        ((DropBias(),), 0.98),
        ((LabelSmoothing(),), 0.98),
        ((Mixup(),), 0.98),
        ((FederatedAveraging(steps=5),), 0.98),
        ((GradientNoise(model=Gaussian(scale=1e-3)),), 0.98),
    ],
    ids=lambda item: "+".join(type(part).__name__ for part in item) if isinstance(item, tuple) else str(item),
)
def test_what_certifies_nothing_protects_little(
    data: LabelSet, defences: tuple[GradientDefence, ...], least: float
) -> None:
    channel = attrs.evolve(CHANNEL, bias=True, samples=50)

    assert certified(channel, data, *defences) == 1.0
    assert strongest(channel, data, *defences)[0] >= least


@pytest.mark.slow
def test_a_batch_of_its_own_certifies_nothing_either(data: LabelSet) -> None:
    channel = attrs.evolve(CHANNEL, samples=32)
    threat = channel.threat(Setting(data=data, defences=(Aggregate(batch=4),)))

    accuracy, _ = strongest(channel, data, Aggregate(batch=4))

    assert certified(channel, data, Aggregate(batch=4)) == 1.0
    assert accuracy > threat.baseline + 0.4


@pytest.mark.parametrize("family", list(LabelFamily))
def test_the_hidden_bias_reads_any_label_when_all_layers_are_shared(data: LabelSet, family: LabelFamily) -> None:
    channel = attrs.evolve(CHANNEL, bias=True, shared=Shared.ALL, targets=family, samples=50)
    outcome = channel.play(
        Setting(data=data, attack=HiddenBias()),
        curator_rng=np.random.default_rng(0),
        attack_rng=np.random.default_rng(0),
    )

    assert outcome.n_correct >= 49
    assert outcome.evidence["soft labels within 1e-3"] >= 0.95


@pytest.mark.parametrize(("multiplier", "releases"), [(0.5, 1), (1.0, 1), (2.0, 1), (2.0, 4), (4.0, 4)])
def test_the_worst_case_of_the_gaussian_certificate(multiplier: float, releases: int) -> None:
    """Ten orthogonal gradients of norm S, all public: nothing is harder to hide, and T releases are averaged."""
    rng, n, k = np.random.default_rng(0), 20_000, 10
    truth = rng.integers(k, size=n)
    mean = np.eye(k)[truth] + rng.normal(0, multiplier / math.sqrt(releases), (n, k))

    accuracy = np.mean(mean.argmax(axis=1) == truth)

    mu = math.sqrt(releases) / multiplier
    # Five standard deviations of 20 000 trials are 0.018.
    assert accuracy == pytest.approx(certificates.bayes_public(mu, k), abs=0.018)
    assert accuracy <= certificates.gaussian(mu, (1 / k,) * k)
    assert accuracy > 0.75 * certificates.gaussian(mu, (1 / k,) * k)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
def test_the_worst_case_of_the_laplace_certificate(epsilon: float) -> None:
    """Ten gradients of one entry each, all public, under the noise that epsilon asks for."""
    rng, n, k = np.random.default_rng(0), 20_000, 10
    truth = rng.integers(k, size=n)
    released = np.eye(k)[truth] + rng.laplace(0, 2 / epsilon, (n, k))
    # The likelihood of class j differs from the reference's in entry j only.
    score = np.abs(released) - np.abs(released - 1)

    accuracy = np.mean((score + 1e-9 * rng.random((n, k))).argmax(axis=1) == truth)

    assert 0.1 < accuracy <= certificates.laplace(epsilon, (1 / k,) * k) <= pure_accuracy(epsilon, (1 / k,) * k)


def test_the_best_mechanism_of_approximate_label_dp_meets_its_certificate() -> None:
    """With probability delta the label itself, otherwise randomised response."""
    epsilon, delta, k = 1.0, 0.1, 4
    share = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    table = (1 - delta) * ((share - (1 - share) / (k - 1)) * np.eye(k) + (1 - share) / (k - 1))
    outputs = np.hstack([table, delta * np.eye(k)])  # shape (label, output)
    for one in outputs:
        for other in outputs:
            assert np.maximum(one - math.exp(epsilon) * other, 0).sum() <= delta + 1e-12

    accuracy = outputs.max(axis=0).sum() / k

    assert accuracy == pytest.approx(approximate_accuracy(epsilon, delta, (1 / k,) * k), abs=1e-8)
