"""What a valid submission looks like, and the rows that tell labels apart, learnt from a sample and the scorer."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.simulator import NOT_FINITE, Labels, Simulator

__all__ = ["Classes", "Columns", "Lists", "Numbers", "SubmissionFormat", "alike", "telling", "usual"]

_TRIES = 12  # made submissions of a format
_NEAR = 0.03  # how near to certain a row gets that must not be certain


class SubmissionFormat(abc.ABC):
    """The rows that a submission may hold."""

    @property
    @abc.abstractmethod
    def constants(self) -> Sequence[Any]:
        """Rows that all records may be given alike."""

    @abc.abstractmethod
    def spread(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return rows no two of which are alike, for records that are to be told apart."""

    @property
    @abc.abstractmethod
    def kinds(self) -> Sequence[str]:
        """Names of the kinds of rows that records may be given to be read."""

    @abc.abstractmethod
    def rows(self, kind: str, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return ``n`` rows of a kind."""


@attrs.frozen(kw_only=True)
class Numbers(SubmissionFormat):
    """One number a record: a probability, or any number between two ends."""

    low: float = 0.0
    high: float = 1.0

    @property
    def constants(self) -> Sequence[float]:
        """The middle, and near both ends."""
        return tuple(self._at(share) for share in (0.5, _NEAR, 1 - _NEAR))

    @property
    def kinds(self) -> Sequence[str]:
        """Two values; the two ends; any; evenly spaced; far out; a bunch."""
        return ("two", "ends", "uniform", "spaced", "top", "logistic", "powers")

    def spread(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Evenly spaced, in a random order."""
        return np.asarray(self._at((rng.permutation(n) + 1) / (n + 1)))

    def rows(self, kind: str, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return ``n`` numbers of a kind."""
        share: NDArray[Any]
        if kind == "two":
            share = rng.choice([_NEAR, 1 - _NEAR], n)
        elif kind == "ends":
            share = rng.choice([0.0, 1.0], n)
        elif kind == "spaced":
            share = (rng.permutation(n) + 1) / (n + 1)
        elif kind == "top":
            share = 1 - _NEAR * (rng.permutation(n) + 1) / (n + 1)
        elif kind == "logistic":
            share = 1 / (1 + np.exp(-rng.normal(0, 4, n)))
        elif kind == "powers":
            share = 2.0 ** -(rng.permutation(n) + 1.0)
        else:
            share = rng.uniform(0, 1, n)
        return np.asarray(self._at(share))

    def _at(self, share: Any) -> Any:
        return self.low + (self.high - self.low) * share


@attrs.frozen(kw_only=True)
class Columns(SubmissionFormat):
    """A probability for every class a record."""

    n_classes: int

    @property
    def constants(self) -> Sequence[NDArray[np.float64]]:
        """Every class alike, and every class near certain."""
        k = self.n_classes
        return (np.full(k, 1 / k), *(self._near(c) for c in range(k)))

    @property
    def kinds(self) -> Sequence[str]:
        """Near certain of a class; any; nearly certain of any; one column moved."""
        return ("near", "any", "sharp", *(f"column {c}" for c in range(self.n_classes)))

    def spread(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Random rows."""
        return rng.dirichlet(np.ones(self.n_classes), n)

    def rows(self, kind: str, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return ``n`` rows of a kind."""
        k = self.n_classes
        if kind == "near":
            return np.array([self._near(c) for c in rng.integers(k, size=n)])
        if kind == "any":
            return rng.dirichlet(np.ones(k), n)
        if kind == "sharp":
            return np.clip(rng.dirichlet(np.full(k, 0.1), n), 1e-6, None) / (1 + k * 1e-6)
        column = int(kind.split()[1])
        raised = rng.uniform(0, 1, n)
        found = np.repeat(((1 - raised) / max(1, k - 1))[:, None], k, axis=1)
        found[:, column] = raised
        return found

    def _near(self, c: int) -> NDArray[np.float64]:
        row = np.full(self.n_classes, _NEAR / max(1, self.n_classes - 1))
        row[c] = 1 - _NEAR
        return row


@attrs.frozen(kw_only=True, eq=False)
class Classes(SubmissionFormat):
    """One of a few values a record: a class, a grade, a text."""

    values: NDArray[Any]

    @property
    def constants(self) -> Sequence[Any]:
        """Every value."""
        return tuple(self.values)

    @property
    def kinds(self) -> Sequence[str]:
        """Any of the values; one of two."""
        return ("any", "pair")

    def spread(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Random values: there are too few for all to differ."""
        return rng.choice(self.values, n)

    def rows(self, kind: str, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return ``n`` values of a kind."""
        among = rng.choice(self.values, 2, replace=False) if kind == "pair" and len(self.values) > 2 else self.values
        return rng.choice(among, n)


@attrs.frozen(kw_only=True, eq=False)
class Lists(SubmissionFormat):
    """A few of the values a record, in an order, each once."""

    values: NDArray[Any]
    length: int

    @property
    def constants(self) -> Sequence[NDArray[Any]]:
        """Every value first once, those after it behind it."""
        return tuple(np.roll(self.values, -i)[: self.length] for i in range(len(self.values)))

    @property
    def kinds(self) -> Sequence[str]:
        """Any lists; one of two."""
        return ("any", "pair")

    def spread(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Random lists."""
        return rng.permuted(np.tile(self.values, (n, 1)), axis=1)[:, : self.length]

    def rows(self, kind: str, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return ``n`` lists of a kind."""
        return self.spread(2, rng)[rng.integers(2, size=n)] if kind == "pair" else self.spread(n, rng)


def usual(n_classes: int) -> tuple[SubmissionFormat, ...]:
    """Return the formats that hosts usually take, the likeliest first."""
    one = Numbers(), Columns(n_classes=n_classes), Classes(values=np.arange(n_classes, dtype=np.float64))
    return one if n_classes == 2 else (one[1], one[2], Numbers(high=n_classes - 1.0))


def alike(sample: NDArray[Any], labels: NDArray[Any], n_records: int) -> tuple[SubmissionFormat, ...]:
    """Return what a submission may look like, judged by one that the host takes; the likeliest first.

    Args:
        sample: A row for every record, and columns, if any.
        labels: Values that a label can have.
        n_records: N, places that have a label; a sample of one entry each is read place by place.
    """
    numbers = sample.dtype.kind in "biuf"
    if sample.size != n_records:
        columns = Columns(n_classes=sample.shape[1])
        if sample.dtype.kind == "f":
            return (columns,)
        lists = Lists(values=np.unique(sample), length=sample.shape[1])
        return (lists, columns) if numbers else (lists,)
    both = labels.dtype.kind in "biuf" if numbers else labels.dtype.kind not in "biuf"
    values = np.union1d(sample.ravel(), labels) if both else np.unique(sample.ravel())
    few = Classes(values=values)
    if not numbers:
        return (few,)
    low, high = float(values[0]), float(values[-1])
    every = Numbers() if low >= 0 and high <= 1 else Numbers(low=low, high=high)
    return (every, few) if sample.dtype.kind == "f" else (few, every)


def telling(
    game: Simulator, forms: Sequence[SubmissionFormat], made: Callable[[], Labels], rng: np.random.Generator
) -> SubmissionFormat | None:
    """Return the format in which answers differ most; None where nothing is scored in any.

    Args:
        game: The scorer.
        forms: What submissions may look like, the likeliest first.
        made: Draws labels.
        rng: For the rows.
    """

    def differing(form: SubmissionFormat) -> int:
        answers = [game(made(), form.spread(game.n_records, rng)) for _ in range(_TRIES)]
        return len({answer.tobytes() for answer in answers if (np.abs(answer) < NOT_FINITE).all()})

    told = [differing(form) for form in forms]
    if not any(told):  # a scorer that always raises may score in its message
        game.refuses, game.width = True, 0
        told = [many if many > 1 else 0 for many in map(differing, forms)]
        game.refuses = any(told)
    return forms[int(np.argmax(told))] if any(told) else None
