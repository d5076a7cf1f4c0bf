"""What each defence does to a gradient, what it tells the adversary, and what it certifies."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import NoiseModel, Setting
from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Ceiling, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_data.bundled import Digits
from labelinf_gradients.bounds.certificates import GradientCertificate, KnownFeatureBayes
from labelinf_gradients.bounds.identifiability import Identifiability
from labelinf_gradients.defences.clipping import ClippedGaussian, ClippedLaplace, GradientClip
from labelinf_gradients.defences.coarse import Quantise, Sign
from labelinf_gradients.defences.conduct import (
    Aggregate,
    DropBias,
    FederatedAveraging,
    LabelSmoothing,
    Mixup,
)
from labelinf_gradients.defences.noise import GradientNoise
from labelinf_gradients.defences.sparse import Prune, RandomSparse, TopK
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.effects import (
    Batched,
    EntriesRounded,
    GradientFacts,
    LaplaceNoise,
    LocalSteps,
    MixedPairs,
    NoiseAdded,
    NormClipped,
    Smoothed,
    fold,
)
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat, LabelFamily, Shared
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.laplace import Laplace
from labelinf_privacy.noise.multiplicative import Multiplicative
from labelinf_privacy.noise.uniform import Uniform
from labelinf_scores.defences.clip import Clip

THREAT = GradientThreat(n_records=20, n_classes=10, prior=(0.1,) * 10, has_bias=True)
NOISE = NoiseAdded(std=0.01, model=Gaussian(scale=0.01))
LAYOUT = (slice(0, 6), slice(6, 10))
GRADIENT = np.array([3.0, -1.0, 0.5, 0.0, 2.0, -4.0, 0.1, -0.2, 0.3, -0.4])


def released(defence: GradientDefence, gradient: np.ndarray = GRADIENT, seed: int = 0) -> np.ndarray:
    return defence.start(THREAT, np.random.default_rng(seed)).release(gradient, LAYOUT)


def ceilings(*defences: GradientDefence, **given: object) -> tuple[Ceiling, ...]:
    return GradientCertificate().ceilings(attrs.evolve(told(*defences), **given))


def examples(defence: GradientDefence, gradients: np.ndarray) -> np.ndarray:
    return defence.start(THREAT, np.random.default_rng(0)).examples(gradients, LAYOUT)


def told(*defences: GradientDefence, **given: object) -> GradientThreat:
    return attrs.evolve(THREAT, **given).through(defences)


def test_clipping_keeps_directions_and_short_gradients() -> None:
    long, short = np.array([[30.0, 40.0]]), np.array([[0.3, 0.4]])
    assert examples(GradientClip(norm=2.0), long) == pytest.approx(np.array([[1.2, 1.6]]))
    assert (examples(GradientClip(norm=2.0), short) == short).all()
    assert np.abs(examples(ClippedLaplace(norm=1.0), long)).sum() == pytest.approx(1)
    assert told(GradientClip(norm=2.0)).clip == 2.0
    assert not told(GradientClip(norm=2.0)).clean


def test_noise_is_as_large_as_it_says_and_seeded() -> None:
    zeros = np.zeros(40_000)
    for defence in (GradientNoise(model=Uniform(tau=0.3)), ClippedGaussian(norm=2.0, multiplier=0.5), ClippedLaplace()):
        noise = released(defence, zeros)
        assert noise.std() == pytest.approx(told(defence).noise_std, rel=0.03)
        assert (noise == released(defence, zeros)).all()
        assert (noise != released(defence, zeros, seed=1)).any()


def test_the_largest_entries_of_the_whole_or_of_every_tensor_remain() -> None:
    assert np.flatnonzero(released(TopK(share=0.3))).tolist() == [0, 4, 5]
    assert np.flatnonzero(released(Prune(share=0.5))).tolist() == [0, 4, 5, 8, 9]
    assert np.count_nonzero(released(RandomSparse(share=0.2))) <= 2
    assert told(TopK()).altered


def test_signs_and_levels() -> None:
    assert released(Sign()).tolist() == np.sign(GRADIENT).tolist()
    rounded = released(Quantise(bits=3))
    steps = np.array([4.0 / 3] * 6 + [0.4 / 3] * 4)
    assert np.abs(rounded - GRADIENT).max() <= steps.max() / 2 + 1e-12
    assert np.abs(rounded / steps - np.round(rounded / steps)).max() < 1e-9
    drawn = [released(Quantise(bits=2, stochastic=True), seed=seed) for seed in range(3000)]
    # The mean of 3000 draws deviates by more than 5 * step / (2 sqrt(3000)) with probability below 1e-6.
    assert np.abs(np.mean(drawn, axis=0) - GRADIENT).max() < 5 * 4.0 / (2 * math.sqrt(3000))


def test_conduct_is_told() -> None:
    assert told(LabelSmoothing(most=0.3)).family is LabelFamily.SMOOTHING
    assert told(LabelSmoothing(most=0.3)).smoothing == 0.3
    assert told(Mixup()).family is LabelFamily.MIXUP
    assert not told(DropBias()).bias_shared
    assert told(Aggregate(batch=4)).batch == 4
    assert told(FederatedAveraging(steps=3, rate=0.1)).steps == 3
    assert not told(FederatedAveraging()).clean


@pytest.mark.parametrize(("multiplier", "ceiling"), [(0.5, 0.764), (1.0, 0.389), (2.0, 0.217)])
def test_clipping_and_gaussian_noise_are_certified(multiplier: float, ceiling: float) -> None:
    (found,) = ceilings(ClippedGaussian(norm=3.0, multiplier=multiplier))
    assert found.accuracy == pytest.approx(ceiling, abs=5e-4)
    assert found.conditions


def test_laplace_is_certified_and_is_label_dp() -> None:
    defence = ClippedLaplace(epsilon=1.0)
    (found,) = ceilings(defence)
    assert found.accuracy == pytest.approx(0.165, abs=5e-4)
    assert told(defence).label_epsilon == 1.0


FLOATS = (GradientNoise(model=Gaussian(scale=5.0)), GradientNoise(model=Laplace(scale=5.0)))


@pytest.mark.parametrize("noise", FLOATS, ids=str)
def test_noise_drawn_in_floating_point_certifies_nothing(noise: GradientDefence) -> None:
    for pipeline_ in ((noise,), (GradientClip(), noise), (GradientClip(order=1), noise)):
        assert ceilings(*pipeline_) == ()
        assert math.isinf(told(*pipeline_).label_epsilon)
        assert told(*pipeline_).noise_std >= 5.0


def test_nothing_is_certified_that_is_not_proved() -> None:
    for defence in (GradientClip(), GradientNoise(), TopK(), Sign(), Quantise(), Mixup(), Aggregate(), DropBias()):
        assert ceilings(defence) == ()
    private = ClippedGaussian()

    assert ceilings(private, features_public=True) == ()
    assert ceilings(private, Aggregate(batch=4), features_public=True) == ()


@attrs.frozen(kw_only=True)
class Silent(GradientDefence):
    """Says nothing of what it does."""


def test_unknown_means_unsafe_wherever_it_stands() -> None:
    for private in (ClippedGaussian(), ClippedLaplace()):
        for defences in ((Silent(), private), (private, Silent())):
            assert ceilings(*defences) == ()
            assert math.isinf(told(*defences).label_epsilon)
            assert math.isinf(told(*defences).noise_std)
            assert math.isinf(told(*defences).clip) or defences[0] == Silent()
    unknown = told(Silent())
    assert unknown.altered
    assert not unknown.clean
    assert told(Aggregate(batch=4), Silent()).batch == 4  # an order, which the client obeys whatever else stands there


def test_nobody_sets_a_fact() -> None:
    for fact in ("clip", "noise_std", "altered", "label_epsilon", "label_delta", "batch", "facts"):
        with pytest.raises(TypeError):
            attrs.evolve(THREAT, **{fact: 1.0})  # type: ignore[arg-type]


def test_the_noise_of_a_sum_is_shared_by_the_batch_in_any_order() -> None:
    private, batch = ClippedGaussian(norm=2.0, multiplier=3.0), Aggregate(batch=4)
    for order in ((private, batch), (batch, private)):
        assert told(*order).noise_std == pytest.approx(1.5)


def test_private_noise_stays_on_its_grid_and_samples_stay_within_the_clip() -> None:
    """In whole numbers: a clip of a third of a step's power of two, gradients as long as floats can say."""
    rng = np.random.default_rng(0)
    for defence, order in ((ClippedGaussian(norm=1 / 3), 2), (ClippedLaplace(norm=1 / 3), 1)):
        step = told(defence).facts.proved[0].noise.step
        active = defence.start(THREAT, np.random.default_rng(0))
        own = active.examples(rng.normal(size=(300, 10)), LAYOUT)
        for row in own:
            whole = [Fraction(value) / Fraction(step) for value in row]
            assert all(item.denominator == 1 for item in whole)
            assert sum(abs(item) ** order for item in whole) <= (Fraction(1 / 3) / Fraction(step)) ** order
        sent = np.array([active.release(row, LAYOUT) for row in own]) / step
        assert (sent == np.rint(sent)).all()


def test_a_defence_in_another_channel_is_refused() -> None:
    with pytest.raises(InputError, match="does not belong to the gradient channel"):
        GradientChannel().threat(Setting(data=Digits().load(), defences=(Clip(),)))


def test_bounds_repeat_certificates_or_say_that_there_are_none() -> None:
    (line,) = GradientCertificate().evaluate(told(ClippedGaussian()))
    assert line.value == pytest.approx(0.389, abs=5e-4)
    (none,) = GradientCertificate().evaluate(THREAT)
    assert none.title == "certificate: none"
    assert GradientCertificate().evaluate(ThreatModel(n_records=2, n_classes=2, prior=(0.5, 0.5))) == ()


def test_one_number_is_printed_and_it_is_below_that_of_label_dp() -> None:
    prior = (0.5, 0.3, 0.2)
    private = told(ClippedLaplace(epsilon=math.log(3)), n_classes=3, prior=prior)
    (near,) = GradientCertificate().evaluate(private)
    assert private.label_epsilon == math.log(3)
    assert 0.5 < near.value < max(0.5, 3 * 0.8 / 4, 3 / 5)
    (none,) = GradientCertificate().evaluate(attrs.evolve(private, features_public=True))
    assert none.title == "certificate: none"
    (together,) = GradientCertificate().evaluate(private.behind(Aggregate(batch=2)))  # label by label; not the overlap
    assert together.statement == "labelinf theory, certificates: batches"


def public(*defences: GradientDefence) -> GradientThreat:
    threat = GradientThreat(n_records=20, n_classes=10, prior=(0.1,) * 10, features_public=True)
    return threat.through(defences)


def test_the_bayes_accuracy_is_stated_where_it_holds_and_is_no_ceiling() -> None:
    unit = GradientNoise(model=Gaussian(scale=1.0))
    half = GradientNoise(model=Gaussian(scale=math.sqrt(0.5)))
    for threat in (public(unit), public(half, half), public(unit, DropBias())):
        (bayes,) = KnownFeatureBayes(norm=1.0).evaluate(threat)
        assert bayes.value == pytest.approx(0.3409, abs=1e-4)
        assert bayes.direction is Direction.FLOOR


@pytest.mark.parametrize(
    "facts",
    [
        {"shared": Shared.ALL},
        {"has_bias": True},
        {"effects": (Smoothed(most=0.5), NOISE)},
        {"effects": (LocalSteps(steps=2, rate=0.1), NOISE)},
        {"effects": (Batched(size=2), NOISE)},
        {"effects": (NormClipped(norm=1.0), NOISE)},
        {"effects": (EntriesRounded(), NOISE)},
        {"effects": (NOISE, Unknown(stage="mine"))},
        {"features_public": False},
    ],
    ids=str,
)
def test_the_exact_bayes_accuracy_is_not_stated_of_anything_else(facts: dict[str, object]) -> None:
    assert KnownFeatureBayes().evaluate(attrs.evolve(public(GradientNoise()), **facts)) == ()


@pytest.mark.parametrize("model", [Laplace(scale=0.05), Uniform(tau=0.05), Multiplicative(alpha=0.5)], ids=str)
def test_the_exact_bayes_accuracy_is_of_gaussian_noise(model: NoiseModel) -> None:
    assert KnownFeatureBayes().evaluate(public(GradientNoise(model=model))) == ()
    assert KnownFeatureBayes().evaluate(public(GradientNoise(), GradientNoise(model=model))) == ()
    assert KnownFeatureBayes().evaluate(public()) == ()


@pytest.mark.parametrize(
    ("family", "n_classes", "needed", "left"),
    [
        (LabelFamily.ONE_HOT, 10, 3, "one answer"),
        (LabelFamily.ONE_HOT, 2, 3, "always ambiguous"),
        (LabelFamily.SMOOTHING, 3, 4, "several answers"),
        (LabelFamily.SMOOTHING, 2, 4, "continuum"),
        (LabelFamily.MIXUP, 2, 4, "continuum"),
        (LabelFamily.MIXUP, 3, 4, "several answers"),
    ],
)
def test_identifiability_as_a_bound(family: LabelFamily, n_classes: int, needed: int, left: str) -> None:
    threat = GradientThreat(n_records=4, n_classes=n_classes, prior=(1 / n_classes,) * n_classes)
    labelling = {
        LabelFamily.ONE_HOT: (),
        LabelFamily.SMOOTHING: (Smoothed(most=0.5),),
        LabelFamily.MIXUP: (MixedPairs(),),
    }
    threat = attrs.evolve(threat, effects=labelling[family])

    (line,) = Identifiability().evaluate(threat)

    assert line.value == needed
    assert left in line.conditions


def test_a_bias_gradient_identifies_every_label() -> None:
    (line,) = Identifiability().evaluate(THREAT)
    assert line.value == 2


def test_every_release_that_a_sample_takes_part_in_is_covered() -> None:
    """Four releases behind twice the noise certify what one does behind the noise, and less than one behind twice."""
    (four,) = ceilings(ClippedGaussian(multiplier=2.0, exposures=4))
    (one,) = ceilings(ClippedGaussian(multiplier=1.0))
    assert four.accuracy == pytest.approx(one.accuracy)
    assert four.accuracy > ceilings(ClippedGaussian(multiplier=2.0))[0].accuracy


@pytest.mark.parametrize("private", [ClippedGaussian(), ClippedLaplace()], ids=str)
def test_what_may_lengthen_a_gradient_in_front_of_its_noise_takes_the_certificate_away(
    private: GradientDefence,
) -> None:
    for longer in (Sign(), Quantise()):
        assert ceilings(longer, private) == ()
        assert math.isinf(told(longer, private).label_epsilon)


def test_local_steps_of_a_batch_have_no_epsilon() -> None:
    """One label moves the network that all others' gradients are computed with."""
    private, batch, local = ClippedLaplace(epsilon=1.0), Aggregate(batch=4), FederatedAveraging(steps=5)
    assert told(batch, private).label_epsilon == 1.0
    assert told(local, private).label_epsilon == 1.0
    assert math.isinf(told(batch, local, private).label_epsilon)


@pytest.mark.parametrize(("norm", "epsilon"), [(1.0, 0.5), (0.3, 0.7), (2.0, 3.0)])
def test_laplace_noise_is_as_large_as_it_says_and_never_smaller(norm: float, epsilon: float) -> None:
    """Its scale is 2 S / epsilon, rounded up: what leaves the client about nothing at all is that noise."""
    scale = LaplaceNoise(norm=norm, privacy=epsilon).scale
    assert Fraction(scale) > 2 * Fraction(norm) / Fraction(epsilon)
    assert scale == pytest.approx(2 * norm / epsilon)
    active = ClippedLaplace(norm=norm, epsilon=epsilon).start(THREAT, np.random.default_rng(0))
    drawn = active.release(np.zeros(20_000), (slice(0, 20_000),))
    # The mean of 20 000 exponentials is within 5 / sqrt(20 000) = .035 of its scale beyond any doubt.
    assert np.abs(drawn).mean() == pytest.approx(scale, rel=0.036)


def test_noise_on_no_grid_proves_nothing_whatever_proof_it_names() -> None:
    proof = LaplaceNoise(norm=1.0, privacy=1.0)
    for step, proved in ((0.0, False), (2.0**-20, True)):
        facts = fold(
            [NormClipped(norm=1.0, order=1), NoiseAdded(std=3.0, of_sum=True, step=step, proof=proof)], GradientFacts()
        )
        assert bool(facts.proved) is proved


def test_a_batch_that_left_the_grid_of_its_noise_has_no_epsilon() -> None:
    private, batch = ClippedLaplace(epsilon=1.0), Aggregate(batch=4)
    assert told(private, GradientClip(order=1, norm=0.5)).label_epsilon == 1.0
    assert math.isinf(told(batch, private, GradientClip(order=1, norm=0.5)).label_epsilon)
