"""Rules for attacks that any channel can use: it gives the stages on which an attack plays, the rules are the same.

A stage is made so that nothing on it depends on the truth which the attack is scored against. Whatever follows the
truth all the same was read from elsewhere: from the frames of the callers, from a file, from memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Attack, Guess
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.testing.rules import (
    NotApplicableError,
    belongs,
    one_guess_each,
    refusal_of,
    require,
)

__all__ = ["AttackRules", "Situation"]

Labels = NDArray[np.intp]
Arrays = Mapping[str, NDArray[Any] | None]


@attrs.frozen(kw_only=True, eq=False)
class Situation:
    """One situation that an attack can be asked to play.

    Attributes:
        threat: What is public.
        set_up: Makes the oracle, and the arrays that can be reached through it; given the truth, which a stage may
            leave lying about for whoever looks, but which nothing that it shows may depend on.
    """

    threat: ThreatModel
    set_up: Callable[[Labels], tuple[Any, Arrays]]


@attrs.frozen(kw_only=True)
class AttackRules:
    """The rules for attacks of one channel.

    Attributes:
        base: What attacks of the channel are derived from.
        stages: Situations; an attack has to accept one of them to be tried.
        strange: More threat models that an attack must accept or refuse politely, foreign ones among them.
        extras: Names of the arrays of a guess that hold something per record, beside its labels.
    """

    base: type[Attack]
    stages: Sequence[Situation]
    strange: Sequence[ThreatModel]
    extras: Sequence[str] = ()

    @property
    def threats(self) -> tuple[ThreatModel, ...]:
        """Every threat model that attacks are asked about."""
        return (*(stage.threat for stage in self.stages), *self.strange)

    @property
    def named(self) -> tuple[tuple[str, Callable[[Any], None]], ...]:
        """Every rule with its name."""
        return (
            ("guesses-every-record", self.guesses_every_record),
            ("is-reproducible", self.is_reproducible),
            ("leaves-the-view-alone", self.leaves_the_view_alone),
            ("cannot-see-the-truth", self.cannot_see_the_truth),
            ("says-what-it-lacks", self.says_what_it_lacks),
        )

    def guesses_every_record(self, attack: object) -> None:
        """Check shapes and values of a guess."""
        for stage in self._accepted(attack):
            guess = self._played(attack, stage)
            require(isinstance(guess, Guess), f"it returned {type(guess).__name__}, expected a Guess")
            one_guess_each(guess, stage.threat.n_records, stage.threat.n_classes)
            for name, values in self._extras(guess).items():
                rows = np.shape(values)[:1]
                expected = (stage.threat.n_records,)
                require(rows == expected, f"its {name} has {rows} rows, expected {expected}: one per record")
                require(not np.isnan(values).any(), f"its {name} has NaN")

    def is_reproducible(self, attack: object) -> None:
        """Check that the generator decides everything."""
        for stage in self._accepted(attack):
            one, two = self._played(attack, stage), self._played(attack, stage, take=2)
            require(self._same(one, two), "the same generator must give the same guess; draw from rng alone")

    def leaves_the_view_alone(self, attack: object) -> None:
        """Check that other attacks would see the same afterwards."""
        for stage in self._accepted(attack):
            touched = _shared(attack, stage, 1, 1).touched
            require(not touched, f"it changed {', '.join(touched)}, which belong to the caller")

    def cannot_see_the_truth(self, attack: object) -> None:
        """Check that nothing but the view decides."""
        message = "its guess follows the true labels where the view does not: it reads them elsewhere"
        for stage in self._accepted(attack):
            require(self._same(self._played(attack, stage), self._played(attack, stage, truth=2)), message)

    def says_what_it_lacks(self, attack: object) -> None:
        """Check that a refusal is a sentence, whatever the threat model."""
        for threat in self.threats:
            refusal_of(belongs(attack, self.base), threat)

    def _accepted(self, attack: object) -> Iterator[Situation]:
        refused = {}
        for stage in self.stages:
            if refusal := refusal_of(belongs(attack, self.base), stage.threat):
                refused[refusal] = stage
            else:
                yield stage
                refused[""] = stage
        if "" not in refused:
            raise NotApplicableError(f"it cannot play here: {'; '.join(refused)}")

    def _played(self, attack: object, stage: Situation, truth: int = 1, take: int = 1) -> Guess:
        return _shared(attack, stage, truth, take).guess

    def _extras(self, guess: Guess) -> dict[str, NDArray[Any]]:
        found = {name: getattr(guess, name, None) for name in self.extras}
        return {name: np.asarray(values) for name, values in found.items() if values is not None}

    def _same(self, one: Guess, two: Guess) -> bool:
        first, second = ({"labels": guess.labels, **self._extras(guess)} for guess in (one, two))
        return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@attrs.frozen
class _Bout:
    """What came of a game that several rules look at."""

    guess: Guess
    touched: tuple[str, ...]


def _shared(attack: Any, stage: Situation, truth: int, take: int) -> _Bout:
    """Play a game, once for all rules: an attack is a frozen value, and the generator decides everything."""
    try:
        hash(attack)
    except TypeError:
        return _bout(attack, stage, truth, take)
    return _kept(attack, stage, truth, take)


def _bout(attack: Any, stage: Situation, seed: int, take: int) -> _Bout:
    """Play as a channel does: the truth lies in the frame that calls the attack, and is none of its business."""
    truth = np.random.default_rng(seed).integers(0, stage.threat.n_classes, stage.threat.n_records, dtype=np.intp)
    oracle, arrays = stage.set_up(truth)
    given = {name: (array, array.copy()) for name, array in arrays.items() if array is not None}
    guess: Guess = attack.run(oracle, np.random.default_rng(0))
    del truth
    touched = [name for name, (one, two) in given.items() if not np.array_equal(one, two, equal_nan=True)]
    return _Bout(guess, tuple(touched))


_kept = functools.lru_cache(maxsize=1024)(_bout)
