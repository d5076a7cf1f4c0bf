"""What is held to a channel on planted labels, of which its author writes no rule: whoever breaks one is accused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Bound, Defence, Guess, LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import BoundValue
from labelinf_core.contracts.planted import PlantedChannel
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.testing.planted import rules

Accused = Callable[..., set[str]]


@attrs.frozen(kw_only=True)
class Told(ThreatModel):
    """How labels are told."""

    how: str


@attrs.frozen(kw_only=True)
class Shown:
    """Numbers, one for every label."""

    numbers: NDArray[np.float64]


@attrs.frozen(kw_only=True)
class Telling(PlantedChannel):
    """Tells every label, as it is or turned round."""

    attacks: ClassVar[type[Attack]] = Attack
    defences: ClassVar[type[Defence]] = Defence
    how: Literal["plainly", "backwards"] = "plainly"

    def known(self, data: LabelSet) -> Told:
        shares = (1 / data.n_classes,) * data.n_classes
        return Told(n_records=20, n_classes=data.n_classes, prior=shares, how=self.how)

    def release(self, data: LabelSet, labels: NDArray[np.intp], threat: Any, rng: np.random.Generator) -> Shown:
        numbers = labels.astype(float) * (1 if self.how == "plainly" else -1)
        for defence in threat.defences:
            numbers = defence.change(numbers, rng)
        return Shown(numbers=numbers)


@attrs.frozen(kw_only=True)
class Reading(Attack):
    """Reads what is told."""

    def run(self, view: Shown, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.abs(view.numbers).astype(np.intp))


class Peeking(Reading):
    """Looks up the truth in its callers' frames."""

    def run(self, view: Shown, rng: np.random.Generator) -> Guess:
        frame: Any = sys._getframe()
        while "truth" not in frame.f_locals:
            frame = frame.f_back
        return Guess(labels=frame.f_locals["truth"])


class Meddling(Reading):
    """Changes what others are shown."""

    def run(self, view: Shown, rng: np.random.Generator) -> Guess:
        view.numbers[:] = 0
        return Guess(labels=np.zeros(20, dtype=np.intp))


class OfTwoClasses(Reading):
    """Does not know that there may be three."""

    def run(self, view: Shown, rng: np.random.Generator) -> Guess:
        return Guess(labels=np.where(np.abs(view.numbers) > 1, 7, 0))


class Backwards(Peeking):
    """Plays one choice of a setting alone, which is not the default."""

    def unsupported_reason(self, threat: ThreatModel) -> str:
        return "" if getattr(threat, "how", "") == "backwards" else "they are told plainly"


@pytest.mark.parametrize(
    ("attack", "broken"),
    [
        (Reading(), set()),
        (Peeking(), {"cannot-see-the-truth"}),
        (Meddling(), {"leaves-the-view-alone"}),
        (OfTwoClasses(), {"guesses-every-record"}),
        (Backwards(), {"cannot-see-the-truth"}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_attacks(attack: Attack, broken: set[str], accused: Accused) -> None:
    assert accused(attack, rules(Telling)[Kind.ATTACK]) == broken


@attrs.frozen(kw_only=True)
class Noisy(Defence):
    """Adds noise, of the curator's generator or of its own."""

    own: bool = False

    def change(self, numbers: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        return numbers + (np.random.default_rng() if self.own else rng).normal(size=numbers.shape)


@pytest.mark.parametrize(("own", "broken"), [(False, set()), (True, {"is-reproducible"})])
def test_defences(own: bool, broken: set[str], accused: Accused) -> None:
    assert accused(Noisy(own=own), rules(Telling)[Kind.DEFENCE]) == broken
    assert accused(Defence(), rules(Telling)[Kind.DEFENCE]) == {"is-reproducible"}  # it cannot stand in a game


def test_a_bound_that_fails_in_some_game_of_the_channel_is_accused(accused: Accused) -> None:
    class Forgetful(Bound):
        def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
            if isinstance(threat, Told) and threat.how == "backwards":
                raise KeyError(threat.how)
            return ()

    assert accused(Forgetful(), rules(Telling)[Kind.BOUND]) == {"speaks-of-every-game"}


def test_a_channel_that_refuses_made_labels_has_no_such_rules() -> None:
    class Fussy(Telling):
        def known(self, data: LabelSet) -> Told:
            raise InputError("I want real ones.")

    assert rules(Fussy) == {}


def test_a_channel_that_breaks_in_every_game_is_found_out_there_and_not_before(accused: Accused) -> None:
    class Broken(Telling):
        def release(self, data: Any, labels: Any, threat: Any, rng: Any) -> Any:
            raise ZeroDivisionError

    assert "guesses-every-record" in accused(Reading(), rules(Broken)[Kind.ATTACK])
