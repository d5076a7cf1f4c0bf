"""The contract of the score channel accuses whoever breaks it, by the rule that was made for it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from labelinf_core.contracts.components import Bound, Guess
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_privacy.noise.gaussian import Gaussian
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Curator, Query, ScoreDefence
from labelinf_scores.game.effects import Added, Perturbed, Rounded
from labelinf_scores.game.oracle import ScoreAttack, ScoreOracle
from labelinf_scores.metrics.brier import Brier
from labelinf_scores.rules import RULES

Labels = np.ndarray[Any, np.dtype[np.intp]]
Accused = Callable[..., set[str]]


@attrs.frozen(kw_only=True)
class Honest(ScoreAttack):
    """Asks about one record at a time, as far as the budget goes."""

    def missing_requirement(self, threat: Any) -> str:
        return "" if threat.n_classes == 2 and threat.n_records > 3 else "needs two classes and four records"

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        blank = np.full(oracle.threat.n_records, 0.5)
        base = float(oracle.query(blank))
        labels = np.empty(blank.size, dtype=np.intp)
        for row in range(blank.size):
            asked = blank.copy()
            asked[row] = 0.75
            labels[row] = int(float(oracle.query(asked)) < base)
        return Guess(labels=labels)


class Looking(Honest):
    """Looks for the labels instead of asking."""

    def look(self, oracle: Any) -> Any:
        raise NotImplementedError

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.array(self.look(oracle), dtype=np.intp))


@attrs.frozen(kw_only=True)
class Behind(Looking):
    """Asks the oracle whose answer it passes on."""

    def look(self, oracle: Any) -> Any:
        return oracle._answer.__self__.labels


@attrs.frozen(kw_only=True)
class Collecting(Looking):
    """Looks through everything that the interpreter keeps."""

    def look(self, oracle: Any) -> Any:
        curators = [item for item in gc.get_objects() if type(item) is Curator]
        return [item.labels for item in curators if item.labels.size == oracle.threat.n_records][-1]


@attrs.frozen(kw_only=True)
class Referring(Looking):
    """Follows references from the oracle to any array of labels."""

    def look(self, oracle: Any) -> Any:
        queue, seen = [oracle], set()
        while queue:
            thing = queue.pop(0)
            if id(thing) in seen or isinstance(thing, type):
                continue
            seen.add(id(thing))
            if isinstance(thing, np.ndarray) and thing.shape == (oracle.threat.n_records,) and thing.max() < 9:
                return thing
            queue += gc.get_referents(thing)
        return Honest.run(self, oracle, np.random.default_rng(0)).labels


@attrs.frozen(kw_only=True)
class Stacked(Looking):
    """Reads the callers' variables."""

    def look(self, oracle: Any) -> Any:
        frame: Any = sys._getframe()
        while frame is not None:
            for name in ("truth", "labels"):
                if isinstance(frame.f_locals.get(name), np.ndarray):
                    return frame.f_locals[name]
            frame = frame.f_back
        raise RuntimeError


@attrs.frozen(kw_only=True)
class Threaded(Looking):
    """Reads the frames of every thread."""

    def look(self, oracle: Any) -> Any:
        for start in sys._current_frames().values():
            frame: Any = start
            while frame is not None:
                for value in frame.f_locals.values():
                    if isinstance(value, np.ndarray) and value.shape == (oracle.threat.n_records,):
                        return value
                frame = frame.f_back
        raise RuntimeError


@attrs.frozen(kw_only=True)
class Meddling(Honest):
    """Gives itself another threat model."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        oracle.threat = attrs.evolve(oracle.threat, n_records=1)  # type: ignore[misc]
        return Guess(labels=np.zeros(1, dtype=np.intp))


@attrs.frozen(kw_only=True)
class Half(Honest):
    """Guesses halves."""

    def run(self, oracle: ScoreOracle, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.full(oracle.threat.n_records, 0.5))  # type: ignore[arg-type]


def test_an_honest_attack_breaks_no_rule(accused: Accused) -> None:
    assert accused(Honest(), RULES[Kind.ATTACK]) == set()


@pytest.mark.parametrize("cheat", [Behind(), Collecting(), Referring(), Stacked(), Threaded()], ids=repr)
def test_whoever_looks_for_the_truth_is_convicted_by_it(cheat: ScoreAttack, accused: Accused) -> None:
    assert accused(cheat, RULES[Kind.ATTACK]) == {"cannot-see-the-truth"}


def test_what_is_public_cannot_be_changed_and_halves_are_no_guess(accused: Accused) -> None:
    assert accused(Meddling(), RULES[Kind.ATTACK]) >= {"guesses-every-record", "cannot-see-the-truth"}
    assert accused(Half(), RULES[Kind.ATTACK]) == {"guesses-every-record"}


class Does(ActiveScoreDefence):
    """Does to answers what it is told to."""

    def __init__(self, does: Callable[..., Any], rng: np.random.Generator) -> None:
        self._does, self._rng = does, rng

    def answer(self, labels: Labels, query: Query, ask: Ask) -> Answer:
        return self._does(ask(labels, query), labels, self._rng)


@attrs.frozen(kw_only=True)
class Doing(ScoreDefence):
    """Does something, and may declare something else."""

    acts: Callable[..., Any]
    says: tuple[Any, ...] = ()

    def does(self, threat: Any) -> tuple[Any, ...]:
        return self.says

    def start(self, threat: Any, rng: np.random.Generator) -> ActiveScoreDefence:
        return Does(self.acts, rng)


def noisy(score: Any, labels: Labels, rng: np.random.Generator) -> float:
    return float(score + rng.normal(0, 0.01))


def unseeded(score: Any, labels: Labels, rng: np.random.Generator) -> float:
    return float(score + np.random.default_rng().normal(0, 0.01))


def scribbling(score: Any, labels: Labels, rng: np.random.Generator) -> float:
    labels[0] = 1 - labels[0]
    return float(score)


def passing(score: Any, labels: Labels, rng: np.random.Generator) -> float:
    return float(score)


def weighing(score: Any, labels: Labels, rng: np.random.Generator) -> float:
    return float(score + labels[3])


@pytest.mark.parametrize(
    ("defence", "broken"),
    [
        (Doing(acts=passing), set()),
        (Doing(acts=noisy), {"tells-its-noise", "says-whether-asking-again-helps"}),
        (Doing(acts=unseeded, says=(Added(model=Gaussian(scale=0.01)),)), {"is-seeded"}),
        (Doing(acts=scribbling), {"leaves-its-input-alone"}),
        (Doing(acts=weighing, says=(Rounded(step=0.01),)), {"tells-its-noise", "tells-its-sensitivity"}),
        (Doing(acts=passing, says=(Perturbed(epsilon=0.1),)), {"keeps-its-guarantee"}),
        (Doing(acts=lambda *_: float("nan")), {"answers-numbers"}),
        (object(), {name for name, _ in RULES[Kind.DEFENCE]}),
    ],
    ids=[
        "passing",
        "noisy",
        "unseeded",
        "scribbling",
        "weighing",
        "perturbing",
        "nothing",
        "foreign",
    ],
)
def test_defences(defence: object, broken: set[str], accused: Accused) -> None:
    found = accused(defence, RULES[Kind.DEFENCE])
    assert found >= broken
    assert bool(found) == bool(broken)


@attrs.frozen(kw_only=True)
class Steep(Brier):
    """Claims a span that it exceeds."""

    def span(self, clip: float) -> float:
        return super().span(clip) / 2


@attrs.frozen(kw_only=True)
class Tilted(Brier):
    """Scores something else than its costs."""

    def score(self, labels: Any, predictions: Any, numbers: Any) -> Any:
        return super().score(labels, predictions, numbers) * 2


@attrs.frozen(kw_only=True)
class Askew(Brier):
    """Gives another gap than is asked for."""

    def prediction(self, gap: Any, numbers: Any) -> Any:
        return super().prediction(gap / 2, numbers)


@pytest.mark.parametrize(
    ("loss", "broken"),
    [
        (Brier(), set()),
        (Steep(), {"stays-within-its-span"}),
        (Tilted(), {"is-the-mean-of-its-costs"}),
        (Askew(), {"inverts-its-gap"}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_losses(loss: object, broken: set[str], accused: Accused) -> None:
    assert accused(loss, RULES[Kind.LOSS]) >= broken
    assert bool(accused(loss, RULES[Kind.LOSS])) == bool(broken)


@attrs.frozen(kw_only=True)
class Denying(Bound):
    """Denies whatever the game; of other channels only where it does not look."""

    looks: bool = True

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        return ()

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        if self.looks and not hasattr(threat, "loss"):
            return ()
        return (Ceiling(accuracy=0.6, statement="s", conditions="c"),)


def test_bounds(accused: Accused) -> None:
    assert accused(Denying(), RULES[Kind.BOUND]) == {"is-never-contradicted"}
    assert accused(Denying(looks=False), RULES[Kind.BOUND]) == {"is-never-contradicted", "leaves-other-channels-alone"}
