"""The contract rules of the gradient and the output channel accuse whoever breaks them, and nobody else."""

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
from labelinf_core.contracts.components import ABSTAIN, Defence, Guess
from labelinf_core.contracts.guarantees import Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.rules import NotApplicableError, exceeds
from labelinf_gradients.game.gradient import GradientAttack, GradientDefence, GradientOracle, GradientThreat, Guard
from labelinf_gradients.rules import attacks as gradient_attacks
from labelinf_gradients.rules import defences as gradient_defences
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputGuess, OutputOracle, OutputThreat
from labelinf_outputs.game.training import Train, Trained, TrainingTask
from labelinf_outputs.rules import attacks as output_attacks
from labelinf_outputs.rules import defences as output_defences

Rules = tuple[tuple[str, Callable[[Any], None]], ...]


def accused(component: object, rules: Rules) -> set[str]:
    """Names of the rules that a component breaks."""
    broken = set()
    for name, rule in rules:
        try:
            rule(component)
        except NotApplicableError:
            continue
        except Exception:
            broken.add(name)
    return broken


def truth_of_the_callers() -> NDArray[Any]:
    """What a look into the callers' frames finds."""
    frame: Any = sys._getframe()
    while "truth" not in frame.f_locals or not isinstance(frame.f_locals["truth"], np.ndarray):
        frame = frame.f_back
    return np.asarray(frame.f_locals["truth"])


@attrs.frozen(kw_only=True)
class Honest(OutputAttack):
    """Guesses the top class, and says how sure it is."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        shown = oracle.query().probabilities
        return OutputGuess(labels=shown.argmax(axis=1), confidence=shown.max(axis=1))


@attrs.frozen(kw_only=True)
class TooFew(Honest):
    """Forgets a record."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        return OutputGuess(labels=oracle.query().probabilities.argmax(axis=1)[1:])


@attrs.frozen(kw_only=True)
class Unsure(Honest):
    """Ranks nothing."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        n = oracle.threat.n_records
        return OutputGuess(labels=np.full(n, ABSTAIN), confidence=np.full(n, np.nan))


@attrs.frozen(kw_only=True)
class Moody(Honest):
    """Draws from a generator of its own."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        return OutputGuess(labels=np.random.default_rng().integers(0, 2, oracle.threat.n_records))


@attrs.frozen(kw_only=True)
class Careless(Honest):
    """Sorts what it was lent."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        oracle.query().probabilities.sort(axis=1)
        return OutputGuess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))


@attrs.frozen(kw_only=True)
class Peeking(Honest):
    """Looks up the truth."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        return OutputGuess(labels=truth_of_the_callers())


@attrs.frozen(kw_only=True)
class Silent(Honest):
    """Needs references and does not say so."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> OutputGuess:
        return OutputGuess(labels=oracle.references().planted[0])


@attrs.frozen(kw_only=True)
class Talkative(Honest):
    """Refuses in a paragraph."""

    def refusal(self, threat: ThreatModel) -> str:
        return "first\nsecond"


@attrs.frozen(kw_only=True)
class Narrow(Honest):
    """Takes every threat model for its own channel's."""

    def refusal(self, threat: ThreatModel) -> str:
        return "" if threat.view.references else "needs references"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("attack", "broken"),
    [
        (Honest(), set()),
        (TooFew(), {"guesses-every-record"}),
        (Unsure(), {"guesses-every-record", "is-reproducible", "cannot-see-the-truth"}),  # NaN equals nothing
        (Moody(), {"is-reproducible", "cannot-see-the-truth"}),
        (Careless(), {"leaves-the-view-alone"}),
        (Peeking(), {"cannot-see-the-truth"}),
        (Silent(), {"guesses-every-record", "is-reproducible", "leaves-the-view-alone", "cannot-see-the-truth"}),
        (Talkative(), {name for name, _ in output_attacks.RULES.named}),
        (Narrow(), {"says-what-it-lacks"}),
        (object(), {name for name, _ in output_attacks.RULES.named}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_attacks_on_outputs(attack: object, broken: set[str]) -> None:
    assert accused(attack, output_attacks.RULES.named) == broken


@attrs.frozen(kw_only=True)
class Plain(OutputDefence):
    """Changes nothing."""


@attrs.frozen(kw_only=True)
class Empty(OutputDefence):
    """Claims label-DP and does nothing."""

    def effect(self, threat: OutputThreat) -> OutputThreat:
        return attrs.evolve(threat, label_epsilon=1.0)


@attrs.frozen(kw_only=True)
class Boastful(OutputDefence):
    """States a ceiling of its own and does nothing."""

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        return (Ceiling(accuracy=0.6, statement="s", conditions="c", exact=0.1),)


@attrs.frozen(kw_only=True)
class Looser(OutputDefence):
    """Takes a guarantee away that stands already."""

    def effect(self, threat: OutputThreat) -> OutputThreat:
        return attrs.evolve(threat, label_epsilon=np.inf)


@attrs.frozen(kw_only=True)
class Random(OutputDefence):
    """Draws from a generator of its own."""

    def release(self, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        return np.random.default_rng().dirichlet(np.ones(probabilities.shape[1]), len(probabilities))


@attrs.frozen(kw_only=True)
class InPlace(OutputDefence):
    """Writes into what it was lent."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        task.targets[:] = 1 / task.n_classes
        return train(task, rng)


@attrs.frozen(kw_only=True)
class Transposed(OutputDefence):
    """Releases something else than it was given."""

    def release(self, probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        return probabilities.T


@attrs.frozen(kw_only=True)
class Twice(OutputDefence):
    """Trains twice on everything, and says nothing."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        train(task, rng)
        return train(task, rng)


@attrs.frozen(kw_only=True)
class Keeping(OutputDefence):
    """Cannot be told from another by a hash."""

    kept: list[int] = attrs.field(factory=list)


@pytest.mark.parametrize(
    ("defence", "broken"),
    [
        (Plain(), set()),
        (Empty(), {"keeps-its-guarantee", "states-its-guarantee"}),  # behind epsilon .1 it states 1
        (Boastful(), {"keeps-its-guarantee"}),
        (Looser(), {"states-its-guarantee"}),
        (Random(), {"is-seeded"}),
        (InPlace(), {"leaves-its-input-alone"}),
        (Transposed(), {"trains-and-releases"}),
        (Keeping(), {"is-hashable"}),
        (Twice(), {"says-when-it-mixes"}),
        (object(), {name for name, _ in output_defences.RULES} - {"is-hashable"}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_defences_of_outputs(defence: object, broken: set[str]) -> None:
    assert accused(defence, output_defences.RULES) == broken


@attrs.frozen(kw_only=True)
class Lowest(GradientAttack):
    """Guesses the row with the smallest sum."""

    def refusal(self, threat: ThreatModel) -> str:
        return "" if isinstance(threat, GradientThreat) and threat.batch == 1 else "needs one sample per release"

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=oracle.weight_gradients.sum(axis=2).argmin(axis=1))


@attrs.frozen(kw_only=True)
class LowestOfBatches(Lowest):
    """Forgets that a release may be of several samples."""

    def refusal(self, threat: ThreatModel) -> str:
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

    def refusal(self, threat: ThreatModel) -> str:
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
def test_attacks_on_gradients(attack: object, broken: set[str]) -> None:
    assert accused(attack, gradient_attacks.RULES.named) == broken


def test_an_attack_that_plays_nowhere_is_not_tried_and_says_why() -> None:
    with pytest.raises(NotApplicableError, match="it cannot play here: needs the moon"):
        gradient_attacks.RULES.guesses_every_record(Never())


class Change(Guard):
    """Does to averages what it is told to."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change

    def release(self, gradient: NDArray[np.float64], layout: Any) -> NDArray[np.float64]:
        return np.asarray(self._change(gradient))


@attrs.frozen(kw_only=True)
class Guarded(GradientDefence):
    """Changes averages, and may claim something."""

    change: Callable[..., Any]
    epsilon: float = np.inf
    clip: float = np.inf

    def tell(self, threat: ThreatModel) -> ThreatModel:
        return attrs.evolve(threat, label_epsilon=self.epsilon, clip=self.clip)  # type: ignore[call-arg]

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> Guard:
        return Change(lambda gradient: self.change(gradient, rng))


def in_place(gradient: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    gradient *= 2
    return gradient


UNKEPT = {"keeps-its-guarantee", "keeps-its-guarantee-behind-others"}


def laplace(scale: float) -> Callable[..., Any]:
    return lambda g, rng: np.clip(g, -1, 1) + rng.laplace(0, scale, g.size)


@pytest.mark.parametrize(
    ("defence", "broken"),
    [
        (Guarded(change=lambda g, rng: g), set()),
        (Guarded(change=lambda g, rng: g[1:]), {"keeps-shapes", "is-seeded"}),
        (Guarded(change=lambda g, rng: g / 0.0 if not g.any() else g), {"keeps-shapes"}),
        (Guarded(change=lambda g, rng: g + np.random.default_rng().normal(size=g.size)), {"is-seeded"}),
        (Guarded(change=in_place), {"leaves-its-input-alone"}),
        (Guarded(change=lambda g, rng: g, clip=1.0), {"tells-its-clip"}),
        (Guarded(change=lambda g, rng: g, epsilon=1.0), UNKEPT),
        (Guarded(change=laplace(2.0), epsilon=1.0), set()),  # opposite gradients differ by 2 in one entry
        (Guarded(change=laplace(0.2), epsilon=1.0), UNKEPT),
        (Guarded(change=lambda g, rng: g, epsilon=-1.0), {"states-its-guarantee", *UNKEPT}),
        (object(), {name for name, _ in gradient_defences.RULES}),
    ],
)
def test_defences_of_gradients(defence: Defence, broken: set[str]) -> None:
    with np.errstate(all="ignore"):
        assert accused(defence, gradient_defences.RULES) == broken


def test_chance_accuses_nobody() -> None:
    assert not exceeds(520, 1000, 0.5)
    assert exceeds(600, 1000, 0.5)
    assert not exceeds(1000, 1000, 1.0)
    assert not exceeds(0, 10, 0.0)


PLUGIN = """
from labelinf_core import Descriptor, Kind, Reference, hookimpl
labelinf_contract = 1
R = Reference(work="test", statement="test")
def item(kind, channel, name, target):
    target = "broken_components:" + target
    return Descriptor(kind=kind, name=name, channel=channel, summary="-", reference=R, target=target)
@hookimpl
def labelinf_attacks():
    yield item(Kind.ATTACK, "output", "peeking", "Peeking")
    yield item(Kind.ATTACK, "telepathy", "honest", "Honest")
@hookimpl
def labelinf_defences():
    yield item(Kind.DEFENCE, "output", "empty", "Empty")
"""


def test_plugins_check_names_what_is_broken(install_fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "broken_components", sys.modules[__name__])
    install_fake("labelinf-broken", entry="broken", module="broken_plugin", source=PLUGIN)

    result = CliRunner().invoke(main, ["plugins", "check", "broken"])

    assert result.exit_code == 1
    assert "attack:peeking:cannot-see-the-truth: its guess follows the true labels" in result.output
    assert "defence:empty:keeps-its-guarantee: a model that memorises gives 4000 of 4000 labels back" in result.output
    assert "attack:honest:is-played: there are no rules for channel 'telepathy'" in result.output
