"""A scorer that is run on made labels: typed answers, counted calls, and a budget of them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import LabelinfError, QueriesExhaustedError

__all__ = [
    "NOT_FINITE",
    "Board",
    "BudgetSpentError",
    "Labels",
    "Simulator",
    "Submission",
    "afforded",
    "alike",
    "as_vector",
    "blended",
    "differing",
]

Labels = NDArray[Any]  #: a class for every record, counted from 0; or a real target
Submission = NDArray[Any]  #: a row for every record
Vector = NDArray[np.float64]
Board = Callable[[Labels, Submission], Any]

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
NOT_FINITE = 1e12  #: beyond every score: where what is no number begins
_STEPS = 16_000_000  # labels that may be scored in all
_FEWEST = 1_000  # labellings, however many labels each has
_LEAST = 5e-324  # the least number of a double
_TEXT = 64  # characters of a text without numbers that are told apart one by one


class BudgetSpentError(LabelinfError):
    """As many labellings were scored as may be."""


def afforded(simulations: int, n_records: int) -> int:
    """Return how many labellings may be scored: as many as are granted, fewer where each has many labels.

    >>> afforded(60_000, 150), afforded(60_000, 8_000)
    (60000, 2000)
    """
    return min(simulations, max(_FEWEST, _STEPS // n_records))


def differing(one: Submission, other: Submission) -> NDArray[np.intp]:
    """Return the records whose rows differ in two submissions."""
    differs = one != other
    return np.flatnonzero(differs if differs.ndim == 1 else differs.any(axis=1))


def alike(one: Any, other: Any) -> bool:
    """Whether answers are the same, but for the order in which floats may have been added."""
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12))


def blended(labels: Labels, rows: Submission, rng: np.random.Generator) -> Labels:
    """Return labels of which a share is what the rows predict, or its opposite."""
    code = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    predicted = (code >= rng.choice(code)).astype(np.intp)
    predicted = predicted if rng.random() < 0.5 else 1 - predicted
    return np.where(rng.random(labels.size) < rng.random(), predicted, labels)


def as_vector(answer: Any) -> Vector:
    """Return what a participant sees as numbers: values by name or place, the numbers of a text, else its characters.

    >>> as_vector({"auc": 0.5, "f1": (1, 2)})
    array([0.5, 1. , 2. ])
    >>> as_vector("rank 3 of 10")
    array([ 3., 10.])
    """
    found = np.array(list(_numbers(answer)), dtype=np.float64)
    return np.where((found == 0) & np.signbit(found), -_LEAST, found)  # -0.0 is printed otherwise than 0.0


def _numbers(answer: Any) -> list[float]:
    if answer is None:
        return [np.nan]
    if isinstance(answer, Mapping):
        return [number for key in sorted(answer, key=str) for number in _numbers(answer[key])]
    if isinstance(answer, bytes | str):
        return _spelled(answer if isinstance(answer, str) else answer.decode(errors="replace"))
    if isinstance(answer, list | tuple | set | frozenset):
        return [number for item in answer for number in _numbers(item)]
    if hasattr(answer, "to_numpy"):
        answer = answer.to_numpy()
    if isinstance(answer, np.ndarray) and answer.dtype.kind not in "biuf":
        return [number for item in answer.ravel() for number in _numbers(item)]
    try:
        return [float(number) for number in np.asarray(answer, dtype=np.float64).ravel()]
    except (TypeError, ValueError):
        return _spelled(repr(answer))


def _spelled(text: str) -> list[float]:
    found = [float(number) for number in _NUMBER.findall(text)]
    if found:
        return found
    return [float(ord(letter)) for letter in text] if len(text) > _TEXT else [float(zlib.crc32(text.encode()))]


@attrs.define(kw_only=True, eq=False)
class Simulator:
    """The scorer with whatever stands around it, run on labels that are made up.

    Attributes:
        score: Returns what is shown of a labelling and a submission; what it raises is an answer, too.
        restarted: Returns such a function without a past; None: nobody knows how to make one.
        remembers: Whether answers depend on what was submitted before.
        refuses: Whether it always raises, so that numbers in a message are the score.
        history: What the host was asked, as far as a board that remembers still depends on it.
        n_records: N, places that have a label.
        n_classes: K.
        limit: Calls that are granted.
        calls: Calls so far.
        width: Numbers in an answer; 0 until there was one.
    """

    score: Board
    n_records: int
    n_classes: int
    limit: int
    restarted: Callable[[], Board] | None = None
    remembers: bool = False
    refuses: bool = False
    history: list[Submission] = attrs.field(factory=list)
    calls: int = 0
    width: int = 0

    def __call__(self, labels: Labels, submission: Submission) -> Vector:
        """Return what would be shown next.

        Raises:
            BudgetSpentError: The budget of calls is spent.
        """
        return self.each(labels, [submission])[0]

    def each(self, labels: Labels, submissions: Sequence[Submission]) -> list[Vector]:
        """Return what would be shown of one submission after the other; of a board that remembers, after its history.

        Raises:
            BudgetSpentError: The budget of calls is spent.
        """
        if not self.remembers or self.restarted is None:
            return [self._scored(self.score, labels, submission) for submission in submissions]
        board = self.restarted()
        return [self._scored(board, labels, one) for one in (*self.history, *submissions)][len(self.history) :]

    def _scored(self, board: Board, labels: Labels, submission: Submission) -> Vector:
        if self.calls >= self.limit:
            raise BudgetSpentError(f"all {self.limit} simulations are spent")
        self.calls += 1
        return self.shown(lambda: board(labels, submission))

    def shown(self, answer: Callable[[], Any]) -> Vector:
        """Return an answer as numbers, always as many: an exception, or another shape, is a number of its own.

        What is no finite number is one that no score is near. A refusal is an answer, and its message a text.
        """
        try:
            found = as_vector(answer())
        except (BudgetSpentError, QueriesExhaustedError):
            raise
        except Exception as error:
            if not self.refuses:
                return self._symbol(f"{type(error).__name__}: {error}")
            found = as_vector(str(error))
        self.width = self.width or found.size
        if found.size != self.width:
            return self._symbol(f"{found.size}")
        return np.nan_to_num(found, nan=-NOT_FINITE, posinf=2 * NOT_FINITE, neginf=-2 * NOT_FINITE)

    def _symbol(self, name: str) -> Vector:
        return np.full(max(1, self.width), -3 * NOT_FINITE - zlib.crc32(name.encode()))

    def accepts(self, labels: Labels, submission: Submission) -> bool:
        """Whether such a submission gets a score."""
        return bool((np.abs(self(labels, submission)) < NOT_FINITE).all())
