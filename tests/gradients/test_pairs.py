"""Two defences in a row: no ceiling is beaten that is stated of them, and what comes after a noise costs it nothing."""

from __future__ import annotations

import functools
import itertools
import math

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics import epsilon_bounds
from labelinf_gradients.bounds.certificates import GradientCertificate
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
from labelinf_gradients.game.clients import Client, Samples
from labelinf_gradients.game.effects import Dropped, EntriesRounded, GradientFacts, Lengthened
from labelinf_gradients.game.gradient import (
    ActiveGradientDefence,
    GradientDefence,
    GradientThreat,
    Layout,
)
from labelinf_gradients.game.networks import Perceptron
from labelinf_gradients.rules.defences import RULES
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_privacy.noise.multiplicative import Multiplicative

HARMLESS = (DropBias(), LabelSmoothing(), Mixup(), FederatedAveraging(), GradientClip(norm=0.5))
DROPPING = (TopK(share=0.25), Prune(), RandomSparse(share=0.25))
LENGTHENING = (
    Sign(),
    Quantise(bits=2),
    Quantise(bits=2, stochastic=True),
    GradientNoise(model=Multiplicative(alpha=0.9)),
)
CHANGING = (*DROPPING, *LENGTHENING)
PRIVATE = (ClippedGaussian(multiplier=2.0), ClippedLaplace(epsilon=1.0))
NOISE = GradientNoise(model=Gaussian(scale=1.0))
EVERY = (*HARMLESS, *CHANGING, *PRIVATE, NOISE)
ENTRIES = 64
LAYOUT: Layout = (slice(0, 48), slice(48, ENTRIES))
TRIES = 200

by_name = functools.partial(pytest.mark.parametrize, ids=lambda item: str(item).partition("(")[0])


def told(*defences: GradientDefence) -> GradientThreat:
    return GradientThreat(n_records=20, n_classes=2, prior=(0.5, 0.5)).through(defences)


def ceiling(*defences: GradientDefence) -> float:
    threat = told(*defences)
    stated = [line.accuracy for line in GradientCertificate().ceilings(threat)]
    return min([epsilon_bounds.label_dp_ceiling(threat.label_epsilon, 2), *stated])


def told_apart(*defences: GradientDefence) -> float:
    """Return how often opposite gradients are told apart: one long entry, or all alike, whichever shows more."""
    best = 0.0
    for direction in (1000 * np.eye(ENTRIES)[:1], np.full((1, ENTRIES), 1000.0)):
        actives = [
            item.start(told(*defences), generator)
            for item, generator in zip(defences, np.random.default_rng(0).spawn(len(defences)), strict=True)
        ]
        shown = np.array([[released(actives, sign * direction) for _ in range(TRIES)] for sign in (-1, 1)])
        learnt, guessed = shown[:, : TRIES // 2], shown[:, TRIES // 2 :]
        low, high = learnt.mean(axis=1)
        sides = (guessed - (low + high) / 2) @ (high - low)
        best = max(best, float(((sides[0] < 0).mean() + (sides[1] > 0).mean()) / 2))
    return best


def released(actives: list[ActiveGradientDefence], gradients: NDArray[np.float64]) -> NDArray[np.float64]:
    for active in actives:
        gradients = active.examples(gradients, LAYOUT)
    release: NDArray[np.float64] = gradients.mean(axis=0)
    for active in actives:
        release = active.release(release, LAYOUT)
    return release


CERTIFIED = [pair for pair in itertools.product(EVERY, repeat=2) if ceiling(*pair) < 1]


@pytest.mark.parametrize(
    "pair",
    [pair if place % 4 == 0 else pytest.param(pair, marks=pytest.mark.slow) for place, pair in enumerate(CERTIFIED)],
    ids=lambda pair: "+".join(type(item).__name__ for item in pair),
)
def test_no_ceiling_of_two_defences_is_beaten(pair: tuple[GradientDefence, GradientDefence]) -> None:
    # Four standard deviations of 200 guesses are 0.14.
    assert told_apart(*pair) <= ceiling(*pair) + 0.14


@by_name("private", PRIVATE)
@by_name("other", (*HARMLESS, *CHANGING, NOISE))
def test_what_comes_after_a_noise_costs_it_nothing(private: GradientDefence, other: GradientDefence) -> None:
    assert ceiling(private, other) <= ceiling(private) < 1


@by_name("private", PRIVATE)
@by_name("other", (*HARMLESS, *DROPPING))
def test_what_leaves_a_release_alone_or_shortens_it_may_come_first(
    private: GradientDefence, other: GradientDefence
) -> None:
    assert ceiling(other, private) <= ceiling(private) < 1


@by_name("private", PRIVATE)
@by_name("other", (*LENGTHENING, NOISE))
def test_noise_behind_a_changed_gradient_certifies_nothing(private: GradientDefence, other: GradientDefence) -> None:
    assert ceiling(GradientClip(), other, private) == 1


@by_name("other", (Sign(), Quantise(bits=2, stochastic=True), GradientNoise(model=Multiplicative(alpha=0.9))))
def test_a_clip_is_undone_by_what_stands_behind_it(other: GradientDefence) -> None:
    """The reason: the same noise hides a clipped gradient, and not what another defence has made of it."""
    lengths = [
        np.linalg.norm(released([item.start(told(item), np.random.default_rng(0)) for item in stages], LONG))
        for stages in ((GradientClip(),), (GradientClip(), other))
    ]

    assert lengths[0] == pytest.approx(1)
    assert lengths[1] > 1


LONG = 1000 * np.random.default_rng(3).normal(size=(1, ENTRIES))


@attrs.frozen(kw_only=True)
class Loud(GradientDefence):
    """Lengthens samples behind the clip."""

    honest: bool

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        return (Lengthened(),) if self.honest else ()

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        return Louder()


class Louder(ActiveGradientDefence):
    def examples(self, gradients: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        return gradients * 1000


@attrs.frozen(kw_only=True)
class LoudAverage(Loud):
    """Lengthens averages behind the clip."""

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        return (EntriesRounded(),) if self.honest else (Dropped(),)

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        return LouderAverage()


class LouderAverage(ActiveGradientDefence):
    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        return gradient * 1000


@by_name("private", PRIVATE)
def test_samples_that_are_lengthened_after_their_clip_are_not_certified(private: GradientDefence) -> None:
    assert ceiling(private, Loud(honest=True)) == 1
    assert ceiling(LoudAverage(honest=True), private) == 1
    rules = dict(RULES)
    for honest in (Loud(honest=True), LoudAverage(honest=True)):
        rules["shortens-as-it-says"](honest)
    with pytest.raises(AssertionError, match="a sample's gradient of 2-norm 100 has 2-norm 100000 behind it"):
        rules["shortens-as-it-says"](Loud(honest=False))
    with pytest.raises(AssertionError, match="an average of 2-norm 100 at most has"):
        rules["shortens-as-it-says"](LoudAverage(honest=False))


@by_name("private", PRIVATE)
@by_name("other", (Loud, LoudAverage))
def test_the_run_itself_finds_whoever_lengthens_a_clipped_gradient_and_does_not_say_so(
    private: GradientDefence, other: type[Loud]
) -> None:
    network = Perceptron.random((6, 2), np.random.default_rng(0), bias=False)
    samples = Samples(inputs=np.ones((2, 1, 6)), labels=np.eye(2)[[[0], [1]]])
    for honest in (True, False):
        for order in ((other(honest=honest), private), (GradientClip(), other(honest=honest), private)):
            threat = told(*order)
            client = Client.start(network, threat, np.random.default_rng(0))
            if honest or (other is Loud and len(order) == 2):  # before the clip samples may be as long as they like
                client.releases(samples)
            else:
                with pytest.raises(ComponentError, match=r"it makes a clipped gradient longer"):
                    client.releases(samples)


def test_steps_of_a_whole_batch_are_not_label_dp_in_any_order() -> None:
    """One label moves the network of all samples: their gradients change by more than the noise is made for."""
    laplace, batch, steps = ClippedLaplace(epsilon=1.0), Aggregate(batch=8), FederatedAveraging(steps=2, rate=50.0)
    for order in itertools.permutations((laplace, batch, steps)):
        assert math.isinf(told(*order).label_epsilon)
    for pair in ((laplace, batch), (batch, laplace), (laplace, steps), (steps, laplace)):
        assert told(*pair).label_epsilon == 1.0

    network, inputs = Perceptron.random((6, 2), np.random.default_rng(0), bias=False), np.ones((1, 8, 6))
    network = network.moved({network.classifier_names[0]: -network.layers[-1].weights})
    inputs[0, 0] = 10  # the first sample moves the network most, to one side or the other by its label

    def change(*defences: GradientDefence) -> float:
        threat = told(*defences)
        threat = attrs.evolve(threat, n_records=8, precision="float64")
        sent = []
        for first in (0, 1):
            samples = Samples(inputs=inputs, labels=np.eye(2)[[[first, 0, 0, 0, 0, 1, 1, 1]]])
            releases = Client.start(network, threat, np.random.default_rng(1)).releases(samples)  # the same noise
            sent.append(np.concatenate([part.ravel() for part in releases.values()]))
        return float(np.abs(sent[0] - sent[1]).sum())

    assert change(batch, laplace) <= 2 / 8 + 1e-12
    assert change(steps, batch, laplace) > 2 / 8 + 1e-12
