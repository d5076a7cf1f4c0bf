"""How a rule says that it is broken, or that it does not apply, and what several rules need to say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest import SkipTest

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts import gate
from labelinf_core.contracts.components import Attack, Guess
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.contracts.threat import ThreatModel
from labelinf_core.statistics.proportions import p_value

__all__ = [
    "NotApplicableError",
    "belongs",
    "exceeds",
    "one_guess_each",
    "refusal_of",
    "require",
    "untouched",
]

T = TypeVar("T")

_LONGEST = 200  # characters of a refusal
_IMPROBABLE = 1e-6  # probability that a rule with chance in it accuses a component that keeps it


class NotApplicableError(SkipTest):
    """A rule does not apply to this component; pytest reports it as skipped."""


def require(condition: object, otherwise: str) -> None:
    """Check one thing a rule asks for; unlike ``assert`` it is never optimised away.

    Raises:
        AssertionError: ``condition`` is false; ``otherwise`` says how the rule is broken.
    """
    if not condition:
        raise AssertionError(otherwise)


def belongs(component: object, expected: type[T]) -> T:
    """Return ``component`` as what its channel needs.

    Raises:
        AssertionError: It is something else.
    """
    require(isinstance(component, expected), f"on this channel it must be derived from {expected.__name__}")
    return component  # type: ignore[return-value]


def refusal_of(attack: Attack, threat: ThreatModel) -> str:
    """Return why ``attack`` cannot be played, empty when it can.

    Raises:
        AssertionError: That is not a short sentence on one line.
    """
    refusal = attack.unsupported_reason(threat)
    require(isinstance(refusal, str), f"unsupported_reason() returned {refusal!r}, expected text")
    short = len(refusal) <= _LONGEST and "\n" not in refusal
    require(short, f"a refusal is one clause of at most {_LONGEST} characters, got {refusal!r}")
    return refusal


def one_guess_each(guess: Guess, n_records: int, n_classes: int) -> None:
    """Check that what an attack guessed passes the gate, and its evidence.

    Raises:
        AssertionError: The labels are not one class, or ``ABSTAIN``, per record, or the evidence is not plain data.
    """
    try:
        gate.guessed(guess, Guess, n_records, n_classes)
        gate.evidence(guess.evidence)
    except ComponentError as error:
        raise AssertionError(str(error)) from error


@contextmanager
def untouched(**arrays: NDArray[Any] | None) -> Iterator[None]:
    """Check that a component leaves the arrays it is given as they were.

    Raises:
        AssertionError: It changed one of them.
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    before = {name: array.copy() for name, array in given.items()}
    yield
    for name, array in given.items():
        require(np.array_equal(before[name], array, equal_nan=True), f"it changed {name}, which belong to the caller")


def exceeds(correct: int, guesses: int, ceiling: float) -> bool:
    """Return whether so many correct guesses are next to impossible below ``ceiling`` (probability 1e-6)."""
    return p_value(correct, guesses, ceiling) < _IMPROBABLE
