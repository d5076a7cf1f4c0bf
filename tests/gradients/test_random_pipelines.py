"""Random pipelines in a game so small that every labelling is played: what the fold says is held against what happens.

Stages are drawn from all that the room ships, a new one among them as soon as it is installed, and from an outside
author's, who declares all, or nothing, or too little. The network has one layer and gradients that a clip shortens.
Two labellings are compared under the same draws, so that what moves a release is the label alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients.game.clients import Client, Samples, Watched
from labelinf_gradients.game.effects import (
    Dropped,
    EntriesRounded,
    GradientFacts,
    LabelFamily,
    LaplaceNoise,
    NormClipped,
)
from labelinf_gradients.game.gradient import (
    ActiveGradientDefence,
    GradientDefence,
    GradientThreat,
    Layout,
)
from labelinf_gradients.game.networks import Perceptron

Floats = NDArray[np.float64]

HOST = Host.load()
BUILDER = Builder(HOST)
SLACK = 1e-9
INPUTS, CLASSES, SCALE = 3, 3, 4.0  # gradients of norm about ten: a clip of one, or of three, is felt
RELEASES = 150  # of one batch, whose noise is measured

VARIANTS = (
    "gradient-clip(norm=3.0)", "gradient-clip(norm=2.0, order=1)", "clipped-gaussian(norm=0.5, multiplier=3.0)",
    "clipped-laplace(norm=3.0, epsilon=0.5)", "gradient-noise(model=multiplicative(alpha=0.5))",
    "gradient-noise(model=laplace(scale=0.3))", "gradient-bits(bits=2, stochastic=True)", "top-k(share=0.5)",
    "aggregate(batch=2)", "federated-averaging(steps=2, rate=0.5)", "federated-averaging(steps=3, rate=0.01)",
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Outside(GradientDefence):
    """An outside stage: what it declares, and what it does."""

    declared: tuple[Effect[GradientFacts], ...] | None
    kind: str

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        return super().effects(threat) if self.declared is None else self.declared

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        return Doing(self.kind)


@attrs.frozen
class Doing(ActiveGradientDefence):
    kind: str

    def examples(self, gradients: Floats, layout: Layout) -> Floats:
        if self.kind == "shorten":
            return gradients / np.maximum(1, np.linalg.norm(gradients, axis=1, keepdims=True))
        return gradients * 5 if self.kind == "lengthen samples" else gradients

    def release(self, gradient: Floats, layout: Layout) -> Floats:
        match self.kind:
            case "first entry":
                return np.where(np.arange(gradient.size) == 0, gradient, 0)
            case "coarse":
                return np.rint(gradient)
            case "lengthen":
                return gradient * 5
        return gradient


OUTSIDE = (
    Outside(declared=(), kind="nothing"),
    Outside(declared=(NormClipped(norm=1.0),), kind="shorten"),
    Outside(declared=(Dropped(),), kind="first entry"),
    Outside(declared=(EntriesRounded(),), kind="coarse"),
    Outside(declared=(EntriesRounded(),), kind="lengthen"),
    Outside(declared=None, kind="lengthen"),
    Outside(declared=None, kind="lengthen samples"),
)
LIARS = (
    Outside(declared=(), kind="lengthen"),
    Outside(declared=(), kind="lengthen samples"),
    Outside(declared=(Dropped(),), kind="lengthen"),
)


def _shipped() -> Iterator[GradientDefence]:
    names = [item.descriptor.name for item in HOST.catalogue(Kind.DEFENCE) if item.descriptor.channel == "gradient"]
    for spec in (*names, *VARIANTS):
        yield BUILDER.build(Kind.DEFENCE, spec, "test")


STAGES: tuple[GradientDefence, ...] = (*_shipped(), *OUTSIDE)


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """Noise is drawn for thousands of entries at once, and a release has a dozen here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelinf_gradients.defences.clipping._AHEAD", 64)
        yield


@attrs.frozen(kw_only=True, eq=False)
class Game:
    """One pipeline before one client."""

    threat: GradientThreat
    network: Perceptron
    inputs: Floats

    @classmethod
    def of(cls, defences: tuple[GradientDefence, ...], seed: int = 0) -> Game:
        rng = np.random.default_rng(seed)
        prior = (1 / CLASSES,) * CLASSES
        start = GradientThreat(n_records=8, n_classes=CLASSES, prior=prior, has_bias=True, precision="float64")
        threat = start.through(defences)
        network = Perceptron.random((INPUTS, CLASSES), rng, bias=True)
        return cls(threat=threat, network=network, inputs=rng.uniform(0, SCALE, (threat.batch, INPUTS)))

    @property
    def facts(self) -> GradientFacts:
        return self.threat.facts

    def client(self, seed: int = 1) -> Client:
        return Client.start(self.network, self.threat, np.random.default_rng(seed))

    def samples(self, labels: tuple[int, ...], releases: int = 1) -> Samples:
        """Return the batch as often as it is released; beyond the first samples, everybody has label 0."""
        classes = np.array([*labels, *[0] * self.threat.batch])[: self.threat.batch]
        soft = np.eye(CLASSES)[classes]
        return Samples(inputs=np.stack([self.inputs] * releases), labels=np.stack([soft] * releases))

    def released(self, labels: tuple[int, ...], seed: int = 1, releases: int = 1) -> Floats:
        """Return flat releases, shape ``(releases, d)``."""
        sent = self.client(seed).releases(self.samples(labels, releases))
        return np.concatenate([part.reshape(releases, -1) for part in sent.values()], axis=1)

    def labellings(self) -> list[tuple[int, ...]]:
        return list(itertools.product(range(CLASSES), repeat=min(2, self.threat.batch)))

    def neighbours(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        for one, two in itertools.combinations(self.labellings(), 2):
            if sum(a != b for a, b in zip(one, two, strict=True)) == 1:
                yield one, two

    def plain(self, labels: tuple[int, ...]) -> Floats:
        """Return what a client without defences that change numbers would send."""
        sent = self.client().clean(self.samples(labels))
        return np.concatenate([part.ravel() for part in sent.values()])


def _lengths(rows: Floats, facts: GradientFacts) -> Iterator[tuple[float, float]]:
    """Yield how long the longest row is and how long it may be, for both norms."""
    for order, most in ((2, facts.clip), (1, facts.clip_sum)):
        if math.isfinite(most):
            yield float(np.linalg.norm(np.atleast_2d(rows), ord=order, axis=1).max()), most


def a_clean_release_is_the_gradient(game: Game) -> None:
    if game.facts.clean:
        for labels in game.labellings():
            assert np.array_equal(game.released(labels)[0], game.plain(labels))


def what_is_no_noise_is_a_function_of_the_samples(game: Game) -> None:
    if not game.facts.noises and not game.facts.altered:
        for labels in game.labellings():
            assert np.array_equal(game.released(labels, seed=1), game.released(labels, seed=2))


def a_bounded_release_is_no_longer_than_the_clip(game: Game) -> None:
    if game.facts.bounded:
        for labels in game.labellings():
            assert all(found <= most * (1 + SLACK) for found, most in _lengths(game.released(labels), game.facts))


def _moved(game: Game) -> float:
    """Return how many of a batch's gradients one label can change: local steps of a batch carry it to all."""
    return 2 if game.threat.steps == 1 or game.threat.batch == 1 else 2 * game.threat.batch


def one_label_moves_a_release_no_further_than_told(game: Game) -> None:
    """Under the same draws; on a grid, by a step for every noise besides."""
    facts = game.facts
    grids = sum(2 * noise.step for noise in facts.noises) * math.sqrt(game.inputs.size * CLASSES)
    if not facts.altered and math.isfinite(facts.noise_std):
        for one, two in game.neighbours():
            for found, most in _lengths(game.released(one) - game.released(two), facts):
                assert found <= _moved(game) * most / game.threat.batch * (1 + SLACK) + grids * INPUTS * CLASSES


@attrs.define
class Spy(ActiveGradientDefence):
    """Passes everything on, and keeps what reaches the noise."""

    active: ActiveGradientDefence
    seen: Floats | None = None

    def examples(self, gradients: Floats, layout: Layout) -> Floats:
        return self.active.examples(gradients, layout)

    def release(self, gradient: Floats, layout: Layout) -> Floats:
        self.seen = gradient
        return self.active.release(gradient, layout)


def _hidden(game: Game, place: int, labels: tuple[int, ...]) -> Floats:
    """Return the sum of the batch that reaches the noise of one stage."""
    client = game.client()
    actives: list[Watched] = list(client.actives)
    spy = Spy(actives[place].active)
    actives[place] = attrs.evolve(actives[place], active=spy)
    attrs.evolve(client, actives=tuple(actives)).releases(game.samples(labels))
    assert spy.seen is not None
    return spy.seen * game.threat.batch


def what_is_proved_of_noise_rests_on_what_reaches_it(game: Game) -> None:
    """A proof of Laplace noise is about sums that one label moves by twice the norm, and of Gaussian by twice the clip.

    Behind anything but an average it is about a single sample, which is no longer than the clip.
    """
    known = [0, *(len(known.facts.proved) for known in (*game.threat.before[1:], game.threat))]
    for place, (before, behind) in enumerate(itertools.pairwise(known)):
        proved = game.facts.proved[before:behind]
        if not proved or (game.threat.batch > 1 and not (proved[0].linear and game.threat.steps == 1)):
            continue
        order = 1 if isinstance(proved[0].noise.proof, LaplaceNoise) else 2
        most = game.facts.clip_sum if order == 1 else game.facts.clip
        for one, two in game.neighbours():
            moved = float(np.linalg.norm(_hidden(game, place, one) - _hidden(game, place, two), ord=order))
            assert moved <= 2 * most * (1 + SLACK)
        if game.threat.batch == 1:
            assert np.linalg.norm(_hidden(game, place, (1,)), ord=order) <= most * (1 + SLACK)


def noise_is_as_large_as_told(game: Game) -> None:
    """And does not look at the samples."""
    facts = game.facts
    if 0 < facts.noise_std < math.inf and not facts.altered:
        drawn = game.released((1, 2), releases=RELEASES)
        noise = drawn - drawn.mean(axis=0)
        assert abs(noise.std() / facts.noise_std - 1) < 0.25
        other = game.released((0, 2), releases=RELEASES)
        grids = sum(2 * item.step for item in facts.noises)
        assert np.allclose(noise, other - other.mean(axis=0), rtol=0, atol=2 * grids + 1e-6 * facts.noise_std)


def privacy_is_what_the_noise_pays_for(game: Game) -> None:
    """The least epsilon of any proved noise: 2 S over its scale, for the sums that reach it."""
    if math.isfinite(game.facts.label_epsilon):
        proofs = [item.noise.proof for item in game.facts.proved if isinstance(item.noise.proof, LaplaceNoise)]
        owed = [2 * game.facts.clip_sum / proof.scale for proof in proofs]
        assert game.facts.label_epsilon >= min(owed) * (1 - SLACK)


def samples_and_labels_are_those_that_were_ordered(game: Game) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (4 * game.threat.n_records, INPUTS))
    drawn = Samples.draw(x, np.arange(len(x)) % CLASSES, game.threat, rng)
    most = drawn.labels.max(axis=2)
    assert drawn.labels.shape == (game.threat.n_records // game.threat.batch, game.threat.batch, CLASSES)
    if game.threat.family is LabelFamily.ONE_HOT:
        assert (most == 1).all()
    elif game.threat.family is LabelFamily.SMOOTHING:
        assert (most >= 1 - game.threat.smoothing * (1 - 1 / CLASSES) - SLACK).all()
    sent = game.client().releases(drawn)
    assert game.threat.bias_shared == any(name.endswith("bias") for name in sent)


CHECKS = (
    a_clean_release_is_the_gradient,
    what_is_no_noise_is_a_function_of_the_samples,
    a_bounded_release_is_no_longer_than_the_clip,
    one_label_moves_a_release_no_further_than_told,
    what_is_proved_of_noise_rests_on_what_reaches_it,
    noise_is_as_large_as_told,
    privacy_is_what_the_noise_pays_for,
    samples_and_labels_are_those_that_were_ordered,
)


def nothing_false(game: Game) -> None:
    for check in CHECKS:
        check(game)


PIPELINES = st.lists(st.sampled_from(STAGES), min_size=1, max_size=4).map(tuple)


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_what_every_stage_alone_says_is_what_happens(stage: GradientDefence) -> None:
    nothing_false(Game.of((stage,)))


@given(PIPELINES, st.integers(0, 99))
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_fold_says_is_what_happens(defences: tuple[GradientDefence, ...], seed: int) -> None:
    nothing_false(Game.of(defences, seed))


@pytest.mark.slow
@given(PIPELINES, st.integers(0, 99))
@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_fold_says_is_what_happens_in_many_games(defences: tuple[GradientDefence, ...], seed: int) -> None:
    nothing_false(Game.of(defences, seed))


@pytest.mark.long
@given(PIPELINES, st.sampled_from(LIARS), PIPELINES)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_who_says_too_little_is_found_out_or_misleads_nobody(
    before: tuple[GradientDefence, ...], liar: Outside, after: tuple[GradientDefence, ...]
) -> None:
    """A length that is told is watched while the game is played; where none is told, nothing rests on it."""
    game = Game.of((*before[:2], liar, *after[:1]))
    try:
        a_bounded_release_is_no_longer_than_the_clip(game)
        what_is_proved_of_noise_rests_on_what_reaches_it(game)
    except ComponentError as error:
        assert "longer" in str(error)  # noqa: PT017


@given(PIPELINES, PIPELINES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_known_beyond_a_stage_that_says_nothing(
    before: tuple[GradientDefence, ...], after: tuple[GradientDefence, ...]
) -> None:
    silent = Outside(declared=(Unknown(stage="x"),), kind="nothing")
    facts = Game.of((*before, silent, *after)).facts
    told = Game.of(after).facts
    assert math.isinf(facts.noise_std)
    assert not facts.clean
    assert facts.clip >= told.clip
    assert not facts.proved
