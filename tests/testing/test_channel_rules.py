"""The contract rules of the gradient channel accuse whoever breaks them, and nobody else; ``plugins check`` says so."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from labelinf_core.cli import main
from labelinf_core.contracts.components import Defence, Guess
from labelinf_core.contracts.effects import Effect, Unknown
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.rules import NotApplicableError, exceeds
from labelinf_gradients.defences.clipping import ClippedGaussian, ClippedLaplace
from labelinf_gradients.game.effects import Dropped, EntriesRounded, GradientFacts, NoiseAdded, NormClipped
from labelinf_gradients.game.gradient import (
    ActiveGradientDefence,
    GradientAttack,
    GradientDefence,
    GradientOracle,
    GradientThreat,
)
from labelinf_gradients.rules import attacks as gradient_attacks
from labelinf_gradients.rules import defences as gradient_defences
from labelinf_outputs.game.effects import Randomised
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputOracle

Accused = Callable[..., set[str]]


def truth_of_the_callers() -> NDArray[Any]:
    """What a look into the callers' frames finds."""
    frame: Any = sys._getframe()
    while "truth" not in frame.f_locals or not isinstance(frame.f_locals["truth"], np.ndarray):
        frame = frame.f_back
    return np.asarray(frame.f_locals["truth"])


@attrs.frozen(kw_only=True)
class Honest(OutputAttack):
    """Guesses the top class, and says how sure it is."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        shown = oracle.query().probabilities
        return Guess(labels=shown.argmax(axis=1), confidence=shown.max(axis=1))


@attrs.frozen(kw_only=True)
class Peeking(Honest):
    """Looks up the truth."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=truth_of_the_callers())


@attrs.frozen(kw_only=True)
class Empty(OutputDefence):
    """Claims label-DP and does nothing."""

    def effects(self, threat: ThreatModel) -> tuple[Effect[Any], ...]:
        return (Randomised(epsilon=1.0),)


@attrs.frozen(kw_only=True)
class Lowest(GradientAttack):
    """Guesses the row with the smallest sum."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "" if isinstance(threat, GradientThreat) and threat.batch == 1 else "needs one sample per release"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=oracle.weight_gradients.sum(axis=2).argmin(axis=1))


@attrs.frozen(kw_only=True)
class LowestOfBatches(Lowest):
    """Forgets that a release may be of several samples."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return ""


@attrs.frozen(kw_only=True)
class Meddling(Lowest):
    """Changes the network that everybody uses."""

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        oracle.network.classifier.weights[:] = 0
        return super().run(oracle, rng)


@attrs.frozen(kw_only=True)
class PeekingAtClients(Lowest):
    """Looks up the truth."""

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=truth_of_the_callers())


@attrs.frozen(kw_only=True)
class Never(Lowest):
    """Refuses everything."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "needs the moon"


@pytest.mark.parametrize(
    ("attack", "broken"),
    [
        (Lowest(), set()),
        (LowestOfBatches(), {"guesses-every-record"}),
        (Meddling(), {"leaves-the-view-alone"}),
        (PeekingAtClients(), {"cannot-see-the-truth"}),
        (Never(), set()),
        (object(), {name for name, _ in gradient_attacks.RULES.named}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_attacks_on_gradients(attack: object, broken: set[str], accused: Accused) -> None:
    assert accused(attack, gradient_attacks.RULES.named) == broken


def test_an_attack_that_plays_nowhere_is_not_tried_and_says_why() -> None:
    with pytest.raises(NotApplicableError, match="it cannot play here: needs the moon"):
        gradient_attacks.RULES.guesses_every_record(Never())


class Change(ActiveGradientDefence):
    """Does to averages what it is told to."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change

    def release(self, gradient: NDArray[np.float64], layout: Any) -> NDArray[np.float64]:
        return np.asarray(self._change(gradient))


@attrs.frozen(kw_only=True)
class Guarded(GradientDefence):
    """Changes averages, and may claim something."""

    change: Callable[..., Any]
    claims: tuple[Effect[GradientFacts], ...] = (Unknown(stage="guarded"),)

    def effects(self, threat: ThreatModel) -> tuple[Effect[GradientFacts], ...]:
        return self.claims

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        return Change(lambda gradient: self.change(gradient, rng))


def in_place(gradient: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    gradient *= 2
    return gradient


CLAIMING = {name for name, _ in gradient_defences.RULES}  # what cannot be asked for its effects breaks every rule
ADDED = (NoiseAdded(std=1.0, model=None),)


@pytest.mark.parametrize(
    ("defence", "broken"),
    [
        (Guarded(change=lambda g, rng: g), set()),
        (Guarded(change=lambda g, rng: g, claims=()), set()),
        (Guarded(change=lambda g, rng: np.sign(g), claims=()), {"changes-what-it-says"}),
        (Guarded(change=lambda g, rng: np.sign(g), claims=(EntriesRounded(),)), set()),
        (Guarded(change=lambda g, rng: np.sign(g), claims=(Dropped(),)), set()),
        (Guarded(change=lambda g, rng: 9 * g, claims=(Dropped(),)), {"shortens-as-it-says"}),
        (Guarded(change=lambda g, rng: g + rng.normal(size=g.size), claims=ADDED), set()),
        (Guarded(change=lambda g, rng: g + 0.5 * rng.normal(size=g.size), claims=ADDED), {"adds-what-it-says"}),
        (Guarded(change=lambda g, rng: g, claims=ADDED), {"adds-what-it-says"}),
        (Guarded(change=lambda g, rng: g, claims=[]), CLAIMING),
        (Guarded(change=lambda g, rng: g, claims=("clips",)), CLAIMING),
        (Guarded(change=lambda g, rng: g[1:]), {"keeps-shapes", "is-seeded", "shortens-as-it-says"}),
        (Guarded(change=lambda g, rng: g / 0.0 if not g.any() else g), {"keeps-shapes"}),
        (Guarded(change=lambda g, rng: g + np.random.default_rng().normal(size=g.size)), {"is-seeded"}),
        (Guarded(change=in_place), {"leaves-its-input-alone"}),
        (Guarded(change=lambda g, rng: g, claims=(NormClipped(norm=1.0),)), {"shortens-as-it-says"}),
        (object(), {name for name, _ in gradient_defences.RULES}),
    ],
)
def test_defences_of_gradients(defence: Defence, broken: set[str], accused: Accused) -> None:
    with np.errstate(all="ignore"):
        assert accused(defence, gradient_defences.RULES) == broken


@attrs.frozen(kw_only=True)
class Noisy(ClippedLaplace):
    """Clips as the real one, and adds what it is told to."""

    change: Callable[..., Any]

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        return Noise(super().start(threat, rng), lambda gradient: self.change(gradient, rng))


class Noise(Change):
    """Clips samples as another does."""

    def __init__(self, clip: ActiveGradientDefence, change: Callable[[Any], Any]) -> None:
        super().__init__(change)
        self.examples = clip.examples  # type: ignore[method-assign]


def noise(scale: float, step: float) -> Callable[..., Any]:
    def change(gradient: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        noisy = gradient + rng.laplace(0, scale, gradient.size)
        return np.rint(noisy / step) * step if step else noisy

    return change


UNKEPT = {"keeps-its-guarantee"}
PRIVATE = ClippedLaplace(epsilon=1.0)
FINE = 2.0**-20  # the step that clipped-laplace says


@pytest.mark.parametrize(
    ("defence", "broken"),
    [
        (PRIVATE, set()),
        (ClippedGaussian(), set()),
        (Noisy(change=noise(2.0, FINE)), set()),  # the sum is put on a grid together with its noise
        (Noisy(change=noise(2.0, 0)), {"stays-on-its-grid"}),  # the same noise in floats: its low bits tell
        (Noisy(change=noise(0.2, FINE)), {"adds-what-it-says", *UNKEPT}),
        (Noisy(change=lambda g, rng: g), {"adds-what-it-says", *UNKEPT}),
    ],
)
def test_private_noise_on_gradients(defence: Defence, broken: set[str], accused: Accused) -> None:
    assert accused(defence, gradient_defences.RULES) == broken


def test_chance_accuses_nobody() -> None:
    assert not exceeds(520, 1000, 0.5)
    assert exceeds(600, 1000, 0.5)
    assert not exceeds(1000, 1000, 1.0)
    assert not exceeds(0, 10, 0.0)


PLUGIN = """
from labelinf_core import Descriptor, Kind, Reference, hookimpl
labelinf_contract = 2
R = Reference(work="test", statement="test")
def item(kind, channel, name, target):
    target = "broken_components:" + target
    return Descriptor(kind=kind, name=name, channel=channel, summary="-", reference=R, target=target)
@hookimpl
def labelinf_components():
    yield item(Kind.ATTACK, "output", "peeking", "Peeking")
    yield item(Kind.ATTACK, "telepathy", "honest", "Honest")
    yield item(Kind.DEFENCE, "output", "empty", "Empty")
"""


def test_plugins_check_names_what_is_broken(install_fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "broken_components", sys.modules[__name__])
    install_fake("labelinf-broken", entry="broken", module="broken_plugin", source=PLUGIN)

    result = CliRunner().invoke(main, ["plugins", "check", "broken"])

    assert result.exit_code == 1
    assert "attack:peeking:cannot-see-the-truth: its guess follows the true labels" in result.output
    assert "defence:empty:keeps-its-guarantee: a model that memorises gives 20000 of 20000 labels back" in result.output
    assert "attack:honest:is-played: there are no rules for channel 'telepathy'" in result.output
