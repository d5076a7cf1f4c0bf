"""What is kept of a cell and of a trial, and how it is written as JSON.

Infinity is written as the string ``"inf"``, because JSON has no such number.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import attrs
import cattrs

from labelinf_core.contracts.components import Audited, Placebo
from labelinf_core.contracts.documents import plain
from labelinf_core.contracts.guarantees import BoundValue, Ceiling, Promise
from labelinf_core.contracts.images import Gallery

__all__ = ["Implied", "Kept", "Status", "Trial", "from_json", "to_json"]

T = TypeVar("T")


class Status(enum.Enum):
    """What became of a cell's preparation, or of one trial."""

    OK = "ok"
    PENDING = "not yet"
    """The run has not come to it."""
    REFUSED = "n/a"
    """The attack cannot be played under this threat model."""
    INVALID = "bad input"
    """The settings do not fit together: a mistake of the user's, found before anything is played."""
    UNCLEAR = "inconclusive"
    """Nothing is understood of what the user gave, so that nothing played on it would tell anything."""
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"

    @property
    def final(self) -> bool:
        """Whether the rest of the cell is given up: it would hang or crash again."""
        return self in (Status.TIMEOUT, Status.CRASHED)


@attrs.frozen(kw_only=True)
class Implied:
    """What is known of a cell before it is played.

    Attributes:
        status: Whether it can be played.
        message: Why not, as a sentence.
        baseline: Accuracy of the majority guess.
        promise: What the attack is certain of, if anything.
        blind: Whether the attack guesses without looking at anything.
        place: Where it stands among those that may be the strongest, from 0; None: it is not known to be one of them.
        ceilings: What no attack can exceed.
        bounds: Every line that the theory has on this threat model.
        threat: The plain facts of the threat model (numbers and words).
        utility: What the defences cost honest users, as the channel measures it.
        notes: Statements that could not be evaluated, and why.
        culprit: Name of the bound that took its process with it, when one did; such an answer is never kept.
    """

    status: Status = Status.OK
    message: str = ""
    baseline: float = 0.0
    promise: Promise | None = None
    blind: bool = False
    place: int | None = None
    ceilings: tuple[Ceiling, ...] = ()
    bounds: tuple[BoundValue, ...] = ()
    threat: Mapping[str, Any] = attrs.field(factory=dict)
    utility: Mapping[str, float] = attrs.field(factory=dict)
    notes: tuple[str, ...] = ()
    culprit: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the attack is certain of every label, so that none can do better."""
        return self.status is Status.OK and self.promise is not None and self.promise.certified


@attrs.frozen(kw_only=True)
class Trial:
    """One trial of one cell.

    Attributes:
        status: What became of it.
        message: What went wrong, as a sentence.
        n_correct: Labels guessed correctly; an abstention is wrong.
        n_records: Labels there were to guess.
        chance: Share that a blind guess gets, as the core counts it; None: it did not, in an old run.
        queries: Queries spent.
        seconds: Wall time; never part of the results, which must not depend on the machine.
        evidence: What the attack said for itself.
        doubt: Why it shows nothing, unless the attack succeeded; empty: it does.
        placebo: How the attack fared on labels redrawn afterwards, in channels that try it.
        audited: What it says about a certificate of label-DP, in channels that can prove an epsilon.
        ceilings: What no attack exceeds that spends no more queries than this one did, where that is less than what
            holds for the budget.
        gallery: Inputs that it rebuilt, of a cell's first trial: as private as they are.
    """

    status: Status = Status.OK
    message: str = ""
    n_correct: int = 0
    n_records: int = 0
    chance: float | None = None
    queries: int = 0
    seconds: float = 0.0
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
    doubt: str = ""
    placebo: Placebo | None = None
    audited: Audited | None = None
    ceilings: tuple[Ceiling, ...] = ()
    gallery: Gallery | None = None


@attrs.frozen(eq=False)
class Kept(Sequence[Trial]):
    """Trials that are read anew whenever they are looked at, so that they need no memory.

    Attributes:
        source: Reads them one after another.
    """

    source: Callable[[], Iterator[Trial]]

    def __iter__(self) -> Iterator[Trial]:
        return self.source()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Trial]: ...
    def __getitem__(self, index: int | slice) -> Trial | Sequence[Trial]:
        return tuple(self)[index]


def to_json(record: object) -> str:
    """Write a record as one line of canonical JSON; what is as by default is left out."""
    return json.dumps(plain(_CONVERTER.unstructure(record)), sort_keys=True, separators=(",", ":"))


def from_json(text: str, cls: type[T]) -> T:
    """Read back what :func:`to_json` wrote."""
    return _CONVERTER.structure(json.loads(text), cls)


_CONVERTER = cattrs.Converter(omit_if_default=True)  # float("inf") reads the string back
