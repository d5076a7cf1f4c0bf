"""Noise drawn in floats shows zeros in its low bits; noise on a grid, value and noise together, does not."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import LabelSet, Setting
from labelinf_data.bundled import Digits
from labelinf_gradients import certificates
from labelinf_gradients.attacks.zero_mask import ZeroMask
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.defences.clipping import ClippedLaplace, GradientClip
from labelinf_gradients.defences.coarse import Sign
from labelinf_gradients.defences.noise import GradientNoise
from labelinf_gradients.game.channel import GradientChannel
from labelinf_gradients.game.gradient import GradientDefence, GradientThreat, Shared
from labelinf_gradients.noisy.low_bits import gaussian_evidence, laplace_evidence
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.laplace import Laplace
from labelinf_privacy.noise.uniform import Uniform

CHANNEL = GradientChannel(precision="float64", shared=Shared.ALL, auxiliary=500)


@pytest.fixture(scope="module")
def data() -> LabelSet:
    return Digits().load()


@pytest.mark.parametrize("scale", [1.0, 20.0, 3.7])
def test_every_bare_laplace_draw_is_recognised_and_others_seldom_are(scale: float) -> None:
    rng = np.random.default_rng(0)
    bare, added = rng.laplace(0, scale, 2000), rng.laplace(0, scale, 2000) + 0.01 * rng.normal(size=2000)

    assert (laplace_evidence(bare, scale) >= 0).all()
    assert laplace_evidence(added, scale).mean() < -4


@pytest.mark.parametrize(("scale", "least"), [(3.0, 0.5), (8.0, 0.03)])
def test_bare_normal_draws_carry_more_evidence_than_others(scale: float, least: float) -> None:
    """Little each where the scale is a power of two, which rounds nothing; a gradient has thousands of entries."""
    rng = np.random.default_rng(0)
    bare, added = rng.normal(0, scale, 4000), rng.normal(0, scale, 4000) + 0.01 * rng.normal(size=4000)

    assert gaussian_evidence(bare, scale).mean() - gaussian_evidence(added, scale).mean() > least
    assert np.exp(gaussian_evidence(added, scale)).mean() == pytest.approx(1, abs=0.1)


def accuracy(channel: GradientChannel, data: LabelSet, *defences: GradientDefence) -> float:
    setting = Setting(data=data, attack=ZeroMask(), defences=defences)
    outcome = channel.play(setting, curator_rng=np.random.default_rng(0), attack_rng=np.random.default_rng(1))
    return outcome.n_correct / outcome.n_records


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_float_noise_that_would_be_certified_is_read_far_above_its_ceiling(data: LabelSet, epsilon: float) -> None:
    floats = (GradientClip(order=1), GradientNoise(model=Laplace(scale=2 / epsilon)))

    assert certificates.laplace(epsilon, data.prior) < 0.17  # what noise of real numbers would deny
    assert accuracy(CHANNEL, data, *floats) > 0.75
    assert GradientCertificate().ceilings(CHANNEL.threat(Setting(data=data, defences=floats))) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("multiplier", "hidden"), [(2.0, 64), (8.0, 512)])
def test_float_gaussian_noise_too(data: LabelSet, multiplier: float, hidden: int) -> None:
    floats = (GradientClip(), GradientNoise(model=Gaussian(scale=multiplier)))

    assert certificates.gaussian(1 / multiplier, data.prior) < 0.22
    assert accuracy(attrs.evolve(CHANNEL, hidden=(hidden,)), data, *floats) > 0.5


def test_noise_on_a_grid_says_as_little_of_zeros_as_of_others() -> None:
    rng = np.random.default_rng(0)
    threat = GradientThreat(n_records=2, n_classes=2, prior=(0.5, 0.5), precision="float64")
    active = ClippedLaplace(epsilon=0.1).start(threat, rng)
    gradient = np.where(np.arange(4000) < 2000, 0.0, rng.normal(size=4000))
    (own,) = active.examples(gradient[None], (slice(0, 4000),))

    evidence = laplace_evidence(active.release(own, (slice(0, 4000),)), 20.0)

    zeros, others = evidence[:2000], evidence[2000:]
    # Each has a standard deviation of 3 or 4, so that the means of 2 000 differ by less than .5 but for one in 10 000.
    assert abs(zeros.mean() - others.mean()) < 0.5


def test_what_is_no_number_is_no_longer_than_the_clip(data: LabelSet) -> None:
    """An overflow in half precision, or in a module of the user's, was cast to -2**63 steps, which no noise hides."""
    client = ClippedLaplace(norm=1.0, epsilon=1.0).start(CHANNEL.threat(Setting(data=data)), np.random.default_rng(0))
    rows = np.array([[np.nan, 0.25, 0.0], [np.inf, -np.inf, 0.25], [1e300, 1e300, 0.25], [0.0, 0.25, 0.25]])
    assert np.abs(client.examples(rows, ())).sum(axis=1).max() <= 1.0


def test_the_attack_says_what_it_needs(data: LabelSet) -> None:
    noise = GradientNoise(model=Laplace(scale=1.0))

    def refusal(channel: GradientChannel, *defences: GradientDefence) -> str:
        return ZeroMask().unsupported_reason(channel.threat(Setting(data=data, defences=defences)))

    assert refusal(CHANNEL, noise) == ""
    assert refusal(CHANNEL, ClippedLaplace()) == ""  # it plays where it must find nothing, too
    for defences in ((), (noise, noise), (noise, Sign()), (GradientNoise(model=Uniform(tau=1)),)):
        assert refusal(CHANNEL, *defences).startswith("needs one Gaussian or Laplace noise, the last thing")
    assert refusal(attrs.evolve(CHANNEL, precision="float32"), noise).endswith("released in float64")
    assert refusal(attrs.evolve(CHANNEL, auxiliary=0), noise) == "needs auxiliary samples"
    assert refusal(attrs.evolve(CHANNEL, batch=2), noise) == "needs one sample per release"
