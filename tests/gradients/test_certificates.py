"""Ceilings: published marks, brute force over guesses, and the exact Bayes accuracy by simulation."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import attrs
import numpy as np
import pytest
from scipy.optimize import linprog

from labelinf_core.contracts.components import Setting
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients import certificates
from labelinf_gradients.bounds.certificates import GradientCertificate
from labelinf_gradients.finite_pool import counts_bits
from labelinf_gradients.game.effects import GaussianNoise, GradientFacts
from labelinf_privacy.label_dp import pure_accuracy

TEN = (0.1,) * 10


@pytest.mark.parametrize(("ratio", "expected"), [(0.5, 0.764), (1, 0.389), (2, 0.217)])
def test_gaussian_marks(ratio: float, expected: float) -> None:
    assert certificates.gaussian(1 / ratio, TEN) == pytest.approx(expected, abs=5e-4)
    closed = NormalDist().cdf(NormalDist().inv_cdf(0.1) + 1 / ratio)
    assert certificates.gaussian(1 / ratio, TEN) == pytest.approx(closed, abs=1e-9)


def test_gaussian_with_unequal_shares_is_the_best_over_all_splits() -> None:
    prior, mu, normal = (0.5, 0.3, 0.2), 1.0, NormalDist()
    grid = np.linspace(1e-6, 1 - 1e-6, 400)
    best = max(
        sum(s * normal.cdf(normal.inv_cdf(q) + mu) for s, q in zip(prior, (a, b, 1 - a - b), strict=True))
        for a in grid
        for b in grid[:200]
        if 1 - a - b > 1e-6
    )

    assert certificates.gaussian(mu, prior) == pytest.approx(0.738303, abs=1e-6)
    assert certificates.gaussian(mu, prior) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "expected"), [(1.0, 0.165), (4.0, 0.739)])
def test_laplace_marks_for_ten_classes(epsilon: float, expected: float) -> None:
    h = math.exp(epsilon / 2)
    assert certificates.laplace(epsilon, TEN) == pytest.approx(expected, abs=6e-3)
    assert certificates.laplace(epsilon, TEN) == pytest.approx(min(h / 10, 1 - 0.9 / h))
    assert certificates.laplace(epsilon, TEN) < pure_accuracy(epsilon, TEN)


@pytest.mark.parametrize("prior", [(0.25,) * 4, (0.6, 0.3, 0.1)])
def test_laplace_is_the_linear_programme_over_all_mechanisms_near_a_reference(prior: tuple[float, ...]) -> None:
    """The best mechanism within e^(eps/2) of a reference: guesses k with P_k(k), Q(k) as variables."""
    epsilon, k = 1.3, len(prior)
    h = math.exp(epsilon / 2)
    rows, limits = [], []
    for j in range(k):
        hit, reference = np.eye(2 * k)[j], np.eye(2 * k)[k + j]
        rows += [hit - h * reference, -hit + reference / h, hit - reference / h]
        limits += [0.0, 0.0, 1 - 1 / h]
    done = linprog(
        -np.array([*prior, *[0.0] * k]),
        A_ub=np.array(rows),
        b_ub=np.array(limits),
        A_eq=[[0.0] * k + [1.0] * k],
        b_eq=[1.0],
        bounds=(0, 1),
    )

    assert certificates.laplace(epsilon, prior) == pytest.approx(-done.fun, abs=1e-9)


@pytest.mark.parametrize(("distance", "expected"), [(0.0, 0.1), (1.0, 0.3409)])
def test_bayes_with_public_features(distance: float, expected: float) -> None:
    assert certificates.bayes_public(distance, 10) == pytest.approx(expected, abs=1e-4)


def test_bayes_accuracy_is_what_the_best_attack_reaches() -> None:
    rng = np.random.default_rng(0)
    n, k, x = 20_000, 5, np.array([1.2, 0.7])
    truth = rng.integers(k, size=n)
    # Only the inner products with x matter: <G_i, x> = (p_i - [i = k]) |x|^2 + |x| sigma noise.
    size = float(x @ x)
    statistic = -size * np.eye(k)[truth] + np.sqrt(size) * rng.normal(size=(n, k))

    accuracy = np.mean(statistic.argmin(axis=1) == truth)

    # Five standard deviations of 20 000 trials are 0.018.
    assert accuracy == pytest.approx(certificates.bayes_public(math.sqrt(size), k), abs=0.018)


def test_several_releases_add_up_like_one_with_less_noise() -> None:
    noise, clipped = GaussianNoise(std=2.0, exposures=4), GradientFacts(clip=1.0)

    assert noise.accuracy(clipped, TEN) == certificates.gaussian(1.0, TEN) == pytest.approx(0.389, abs=5e-4)


def test_no_signal_leaves_the_majority() -> None:
    assert certificates.gaussian(0.0, (0.7, 0.3)) == pytest.approx(0.7)
    assert certificates.laplace(0.0, (0.7, 0.3)) == pytest.approx(0.7)


def _best_overlap(law: str, size: float, prior: float, batch: int, moves: tuple[float, float]) -> tuple[float, float]:
    """Return what the Bayes rule shares with the labels of a batch of two classes, and the best blind guess.

    Every sample moves a sum of one number by ``moves[label]``, under noise of scale ``size``: exact up to the grid.
    """
    ones = np.arange(batch + 1)
    weight = np.array([math.comb(batch, n) * prior**n * (1 - prior) ** (batch - n) for n in ones])
    shared = 1 - np.abs(ones[:, None] - ones) / batch  # guessed, true
    at = np.linspace(-60, 60, 24_001)[:, None] * size
    z = (at - (moves[0] * (batch - ones) + moves[1] * ones)) / size
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) if law == "normal" else np.exp(-np.abs(z)) / 2
    joint = density * weight / size
    reached = np.trapezoid((joint @ shared.T).max(axis=1), at[:, 0])
    return float(reached), float((shared @ weight).max())


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_no_rule_overlaps_with_a_batch_more_than_its_ceiling(law: str) -> None:
    """The Bayes rule, on sums that move as far as the clip lets them; without noise to speak of it has everything."""
    nearest = []
    for batch, prior, ratio in itertools.product((2, 3, 8), (0.5, 0.7), (0.02, 0.1, 0.4, 1.0)):
        for moves in ((-1.0, 1.0), (0.0, 1.0), (1.0, -0.5)):
            reached, blind = _best_overlap(law, 1 / ratio, prior, batch, moves)
            whole = certificates.gaussian_overlap if law == "normal" else certificates.laplace_overlap
            ceiling = whole(ratio if law == "normal" else 2 * ratio, blind, batch)
            assert blind - 1e-6 <= reached <= ceiling + 1e-6
            nearest.append((ceiling - reached) / max(ceiling - blind, 1e-9))
    assert min(nearest) < 0.7  # the ceiling is not far above what is reached


def test_the_ceiling_of_a_batch_falls_to_the_blind_guess_and_rises_to_one() -> None:
    for whole in (certificates.gaussian_overlap, certificates.laplace_overlap):
        values = [whole(size, 0.55, 8) for size in (1e-9, 1e-3, 0.1, 0.5, 3.0, 100.0, 1e4)]
        assert values == sorted(values)
        assert values[0] == pytest.approx(0.55, abs=1e-8)
        assert values[-1] == 1.0
        assert whole(0.1, 1.0, 8) == 1.0


@pytest.mark.parametrize(
    ("defences", "certified"),
    [
        (("clipped-gaussian(multiplier=40)",), True),
        (("clipped-laplace(epsilon=0.05)",), True),
        (("clipped-gaussian(multiplier=40)", "top-k(share=0.1)"), True),
        (("top-k(share=0.1)", "clipped-gaussian(multiplier=40)"), False),
        (("clipped-gaussian(multiplier=40)", "gradient-clip(norm=0.3)"), False),
        (("federated-averaging", "clipped-gaussian(multiplier=40)"), False),
        (("gradient-noise(model=gaussian(scale=40))",), False),
        (("gradient-clip",), False),
    ],
)
def test_a_batch_is_certified_where_the_sum_lies_on_the_grid_of_its_noise(
    defences: tuple[str, ...], certified: bool
) -> None:
    builder = Builder(Host.load())
    channel = builder.build(Kind.CHANNEL, "gradient(batch=4, samples=16)", "test")
    data = builder.build(Kind.LABELS, "digits", "test").load()
    threat = channel.threat(Setting(data=data, defences=builder.pipeline(list(defences), "test")))
    ceilings = GradientCertificate().ceilings(threat)
    assert bool(ceilings) is certified
    for item in ceilings:
        assert threat.baseline < item.accuracy < threat.baseline + 0.1
        known = 2 ** counts_bits(threat.prior, threat.population)
        assert item.exact == pytest.approx(min(item.reached, item.accuracy**4 * known))
        assert item.game is None
    assert not GradientCertificate().ceilings(attrs.evolve(threat, features_public=True))


def test_overlaps_by_hand() -> None:
    """Where noise is small the trade-off curve decides, at B times the distance; where it is large what is told."""
    normal = NormalDist()

    def told(v: float, blind: float) -> float:
        return v * math.log(v / blind) + (1 - v) * math.log((1 - v) / (1 - blind))

    assert certificates.gaussian_overlap(1.0, 0.75, 2) == pytest.approx(normal.cdf(normal.inv_cdf(0.75) + 2))
    assert certificates.laplace_overlap(2.0, 0.75, 2) == pytest.approx(1 - 0.25 / math.exp(2))
    assert certificates.laplace_overlap(0.5, 0.05, 1) == pytest.approx(0.05 * math.exp(0.25))
    assert told(certificates.gaussian_overlap(0.1, 0.55, 8), 0.55) == pytest.approx(8 * 0.1**2 / 2)
    assert told(certificates.laplace_overlap(0.4, 0.55, 8), 0.55) == pytest.approx(8 * (0.2 + math.exp(-0.2) - 1))
