"""The contract rules of the output channel accuse whoever breaks them, and nobody else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_core.contracts.effects import Effect
from labelinf_core.contracts.threat import ThreatModel
from labelinf_outputs.defences.alibi import Alibi, observe, posterior
from labelinf_outputs.game.effects import Mixed, Randomised, Retrained, TopOne, Unknown
from labelinf_outputs.game.output import OutputAttack, OutputDefence, OutputOracle
from labelinf_outputs.game.training import Train, Trained, TrainingTask, one_hot
from labelinf_outputs.rules import attacks as output_attacks
from labelinf_outputs.rules import defences as output_defences
from labelinf_privacy.randomised_response import perturb

Floats = NDArray[np.float64]
Effects = tuple[Effect[Any], ...]
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
class TooFew(Honest):
    """Forgets a record."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=oracle.query().probabilities.argmax(axis=1)[1:])


@attrs.frozen(kw_only=True)
class Unsure(Honest):
    """Ranks nothing."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        n = oracle.threat.n_records
        return Guess(labels=np.full(n, ABSTAIN), confidence=np.full(n, np.nan))


@attrs.frozen(kw_only=True)
class Moody(Honest):
    """Draws from a generator of its own."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.random.default_rng().integers(0, 2, oracle.threat.n_records))


@attrs.frozen(kw_only=True)
class Careless(Honest):
    """Sorts what it was lent."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        oracle.query().probabilities.sort(axis=1)
        return Guess(labels=np.zeros(oracle.threat.n_records, dtype=np.intp))


@attrs.frozen(kw_only=True)
class Peeking(Honest):
    """Looks up the truth."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=truth_of_the_callers())


@attrs.frozen(kw_only=True)
class Silent(Honest):
    """Needs references and does not say so."""

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=oracle.references().planted[0])


@attrs.frozen(kw_only=True)
class Talkative(Honest):
    """Refuses in a paragraph."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "first\nsecond"


@attrs.frozen(kw_only=True)
class Narrow(Honest):
    """Takes every threat model for its own channel's."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "" if threat.view.references else "needs references"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("attack", "broken"),
    [
        (Honest(), set()),
        (TooFew(), {"guesses-every-record"}),
        (Unsure(), {"guesses-every-record", "is-reproducible", "cannot-see-the-truth"}),  # NaN equals nothing
        (Moody(), {"is-reproducible", "cannot-see-the-truth"}),
        (Careless(), {name for name, _ in output_attacks.RULES.named} - {"says-what-it-lacks"}),  # it is read-only
        (Peeking(), {"cannot-see-the-truth"}),
        (Silent(), {"guesses-every-record", "is-reproducible", "leaves-the-view-alone", "cannot-see-the-truth"}),
        (Talkative(), {name for name, _ in output_attacks.RULES.named}),
        (Narrow(), {"says-what-it-lacks"}),
        (object(), {name for name, _ in output_attacks.RULES.named}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_attacks_on_outputs(attack: object, broken: set[str], accused: Accused) -> None:
    assert accused(attack, output_attacks.RULES.named) == broken


@attrs.frozen(kw_only=True)
class Declaring(OutputDefence):
    """Does nothing, and declares what it is told to."""

    declares: Any = ()

    def effects(self, threat: ThreatModel) -> Effects:
        return self.declares  # type: ignore[no-any-return]


@attrs.frozen(kw_only=True)
class Random(Declaring):
    """Draws from a generator of its own."""

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        return np.random.default_rng().dirichlet(np.ones(probabilities.shape[1]), len(probabilities))


@attrs.frozen(kw_only=True)
class InPlace(Declaring):
    """Writes into what it was lent."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        task.targets[:] = 1 / task.n_classes
        return train(task, rng)


@attrs.frozen(kw_only=True)
class Transposed(Declaring):
    """Releases something else than it was given."""

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        return probabilities.T


@attrs.frozen(kw_only=True)
class Top(Declaring):
    """Shows the top class only."""

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        return one_hot(np.asarray(probabilities.argmax(axis=1)), probabilities.shape[1])


@attrs.frozen(kw_only=True)
class Twice(Declaring):
    """Trains twice on everything."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        train(task, rng)
        return train(task, rng)


@attrs.frozen(kw_only=True)
class Copying(Declaring):
    """Trains on a task of its own making, which does not say which records it has."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        return train(TrainingTask(features=task.features, targets=task.targets), rng)


@attrs.frozen(kw_only=True)
class Neighbourly(Declaring):
    """Averages every target with the next record's."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        return train(attrs.evolve(task, targets=(task.targets + np.roll(task.targets, 1, axis=0)) / 2), rng)


@attrs.frozen(kw_only=True)
class Picking(Declaring):
    """Leaves out the records of class 0: who is trained on is a matter of labels."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        rows = np.flatnonzero(task.targets.argmax(axis=1))
        trained = train(task.take(rows), rng)
        targets = np.full_like(task.targets, np.nan)
        targets[rows] = task.targets[rows]
        return attrs.evolve(trained, targets=targets)


@attrs.frozen(kw_only=True)
class Keeping(Declaring):
    """Cannot be told from another by a hash."""

    kept: list[int] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class Careful(Declaring):
    """Randomised response, whose training labels are told apart from what it trains on by mistake."""

    honest: bool = True

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        labels = perturb(task.hard_labels("careful"), 1.0, task.n_classes, rng)
        trained = train(task.with_labels(labels), rng)
        return trained if self.honest else attrs.evolve(trained, targets=task.targets)


@attrs.frozen(kw_only=True)
class FloatingAlibi(Alibi):
    """ALIBI as published, in floating point."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        observed = task.targets + rng.laplace(0.0, 2 / self.epsilon, task.targets.shape)
        logits = -self.epsilon / 2 * (np.abs(observed - 1) - np.abs(observed))
        targets = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        return train(attrs.evolve(task, targets=targets), rng)


@attrs.frozen(kw_only=True)
class HalfTheNoise(Alibi):
    """ALIBI with half of its noise."""

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        observed = observe(task.hard_labels("alibi"), 2 * self.epsilon, task.n_classes, rng)
        return train(attrs.evolve(task, targets=posterior(observed, self.epsilon)), rng)


class Learning:
    """What it learnt while it trained, it shows."""

    def __init__(self) -> None:
        self.share = 0.0

    def train(self, task: TrainingTask, train: Train, rng: np.random.Generator) -> Trained:
        self.share = float(task.targets[:, 0].mean())
        return train(task, rng)

    def release(self, probabilities: Floats, rng: np.random.Generator) -> Floats:
        return probabilities * (1 - 1e-9 * self.share)


@attrs.frozen(kw_only=True)
class Remembering(Declaring):
    """Tells in its last bits what labels it was handed, past every mechanism that stands behind it."""

    def start(self, threat: Any, rng: np.random.Generator) -> Learning:
        return Learning()


@attrs.frozen(kw_only=True)
class Doubling(Declaring):
    """Trains twice, in a part that it starts for every game."""

    def start(self, threat: Any, rng: np.random.Generator) -> Twice:
        return Twice()


PRIVATE = (Randomised(epsilon=1.0),)
EVERY = {name for name, _ in output_defences.RULES}


@pytest.mark.parametrize(
    ("defence", "broken"),
    [
        (Declaring(), set()),
        (OutputDefence(), set()),  # declares nothing, so that nothing is certified
        (Declaring(declares=PRIVATE), {"keeps-its-guarantee"}),
        (Declaring(declares=[]), EVERY - {"is-seeded", "leaves-its-input-alone", "trains-and-releases"}),
        (Random(), {"is-seeded"}),
        (InPlace(), {"leaves-its-input-alone"}),
        (Transposed(), {"trains-and-releases"}),
        (Top(), {"shows-what-it-declares"}),
        (Top(declares=(TopOne(),)), set()),
        (Keeping(), {"is-hashable"}),
        (Twice(), {"trains-as-often-as-declared"}),
        (Doubling(), {"trains-as-often-as-declared"}),
        (Remembering(), {"releases-what-it-is-given"}),
        (Remembering(declares=(Unknown(stage="x"),)), set()),
        (Twice(declares=(Retrained(times=2),)), set()),
        (Copying(), {"trains-as-often-as-declared", "keeps-labels-apart"}),
        (Neighbourly(), {"keeps-labels-apart"}),
        (Neighbourly(declares=(Mixed(),)), set()),
        (Picking(), {"keeps-labels-apart"}),
        (Careful(declares=PRIVATE), set()),
        (Careful(declares=PRIVATE, honest=False), {"keeps-its-guarantee"}),
        (Careful(declares=(Randomised(epsilon=0.8),)), {"keeps-its-guarantee"}),
        (Alibi(epsilon=0.3), set()),
        (FloatingAlibi(epsilon=0.3), {"keeps-its-guarantee"}),
        (HalfTheNoise(epsilon=1.0), {"keeps-its-guarantee"}),
        (HalfTheNoise(epsilon=0.3), {"keeps-its-guarantee"}),
        (object(), EVERY - {"is-hashable"}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_defences_of_outputs(defence: object, broken: set[str], accused: Accused) -> None:
    assert accused(defence, output_defences.RULES) == broken
