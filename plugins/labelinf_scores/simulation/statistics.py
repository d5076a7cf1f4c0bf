"""Statistics of an answer that depend on a few labels only, as simulation shows: itself, or a difference."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.knowledge import Count, Knowledge
from labelinf_scores.simulation.simulator import NOT_FINITE, Labels, Submission, Vector

__all__ = ["Hypotheses", "Statistic", "Told", "Values", "told"]

_SAME = 1e-9  # of the size of an answer: what the order of additions may move
_PAIRS = 16  # of a hypothesis and a labelling of the rest, at least
_AGAIN = 8  # draws


@attrs.frozen(kw_only=True, eq=False)
class Hypotheses:
    """What a few labels may be, and the count that goes with each where one is not known.

    Attributes:
        places: Records, shape ``(b,)``.
        values: Their classes, shape ``(h, b)``.
        counted: Whose number is a part of a hypothesis; None: nobody's.
        numbers: The number in each hypothesis, shape ``(h,)``.
    """

    places: NDArray[np.intp]
    values: NDArray[np.intp]
    counted: Count | None = None
    numbers: NDArray[np.intp] = attrs.field(factory=lambda: np.zeros(0, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.values)

    def number(self, i: int) -> int:
        """Return the count in hypothesis ``i``."""
        return int(self.numbers[i]) if self.counted else 0

    def kept(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Hypotheses:
        """Return some of them."""
        return attrs.evolve(
            self, values=self.values[which], numbers=self.numbers[which] if self.counted else self.numbers
        )

    @property
    def first(self) -> Hypotheses:
        """What the first record alone may be."""
        return Hypotheses(places=self.places[:1], values=np.unique(self.values[:, :1], axis=0))

    def value(self, knowledge: Knowledge, statistic: Statistic, i: int) -> Vector | None:
        """Return a statistic on labels drawn under hypothesis ``i``; None where there are no such labels.

        Labels that have no score are drawn again: they are rarely what the host has.
        """
        value = None
        for _ in range(_AGAIN):
            labels = knowledge.drawn(self.places, self.values[i], self.counted, self.number(i))
            if labels is None:
                return None
            value = statistic.of(knowledge, labels)
            if (np.abs(value) < NOT_FINITE).any():
                break
        return value


@attrs.frozen(kw_only=True, eq=False)
class Statistic:
    """The answer to a submission, set against the answer to another, or not.

    Attributes:
        submission: What is to be asked.
        beside: None: the answer itself. One: the difference to its answer.
    """

    submission: Submission
    beside: tuple[Submission, ...] = ()

    def of(self, knowledge: Knowledge, labels: Labels) -> Vector:
        """Return its value on simulated labels."""
        *others, answer = knowledge.game.each(labels, [*self.beside, self.submission])
        return _combined(answer, others)

    def observed(self, knowledge: Knowledge) -> Vector:
        """Return its value for what the host answers; what was not asked yet is asked."""
        others = [knowledge.answer(other) for other in self.beside]
        answer = knowledge.answer(self.submission)
        if self.beside:
            places = [i for i, rows in enumerate(knowledge.asked) if rows is self.beside[0]]
            knowledge.against[len(knowledge.asked) - 1] = places[-1]
        return _combined(answer, others)

    def rounded(self, knowledge: Knowledge, size: Vector) -> Vector:
        """Return how far the rounding of answers moves a value of at most this size."""
        return 1.01 * np.broadcast_to(knowledge.step, size.shape) * len(self.beside)

    def cost(self, knowledge: Knowledge) -> int:
        """Return the queries that it takes."""
        return 1 + sum(not knowledge.has(other) for other in self.beside)


def _combined(answer: Vector, others: Sequence[Vector]) -> Vector:
    return answer - others[0] if others else answer


@attrs.frozen(kw_only=True, eq=False)
class Told:
    """What a statistic was in every hypothesis, whatever the other labels were, in the numbers that it is clean in.

    Attributes:
        statistic: Which.
        clean: Which numbers of an answer count, shape ``(d,)``.
        off: How far rounding moves it, shape ``(d,)``.
    """

    statistic: Statistic
    clean: NDArray[np.bool_]
    off: Vector


@attrs.frozen(kw_only=True, eq=False)
class Values:
    """What a statistic is in every hypothesis.

    Attributes:
        each: Shape ``(h, d)``: the numbers that count.
        error: How far it may be from what is seen, shape ``(d,)``.
    """

    each: NDArray[np.float64]
    error: Vector

    @property
    def bits(self) -> float:
        """Bits that a value tells of the hypotheses, where each is as likely as any other."""
        columns = []
        for column, error in zip(self.each.T, self.error, strict=True):
            order = np.argsort(column, kind="stable")
            marked = np.empty(len(column), dtype=np.intp)
            marked[order] = np.concatenate([[0], np.cumsum(np.diff(column[order]) > error)])
            columns.append(marked)
        share = np.unique(np.array(columns), axis=1, return_counts=True)[1] / len(self.each)
        return float(-(share * np.log2(share)).sum())

    def fits(self, seen: Vector) -> NDArray[np.bool_]:
        """Whether each hypothesis has what was seen."""
        return (np.abs(self.each - seen) <= self.error).all(axis=1)


def told(knowledge: Knowledge, statistic: Statistic, hypotheses: Hypotheses, *, among: int, each: int) -> Told | None:
    """Return what a statistic tells apart, by simulation; None where it moves with the labels of other records.

    Args:
        knowledge: What is known.
        statistic: What is tried.
        hypotheses: What is to be told apart.
        among: How many of them are tried.
        each: How many labellings of the rest each is tried on.
    """
    each = max(each, _PAIRS // max(1, min(among, len(hypotheses)))) if among > 2 else each
    ranges: list[Vector] = []
    middles: list[Vector] = []
    for i in knowledge.rng.permutation(len(hypotheses))[: among + 2]:
        drawn = [value for _ in range(each) if (value := hypotheses.value(knowledge, statistic, i)) is not None]
        if len(drawn) < each or len(ranges) == among:
            continue
        values = np.array(drawn)
        ranges.append(np.ptp(values, axis=0))
        middles.append(values.mean(axis=0))
        size = np.abs(values).max(axis=0)
        if not ((ranges[-1] <= _allowed(knowledge, statistic, size)) & (size < NOT_FINITE)).any():
            return None
    enough = len(ranges) > (1 if len(hypotheses) <= _PAIRS else 2 if hypotheses.counted else len(hypotheses))
    if not ranges or (enough and (np.ptp(middles, axis=0) == 0).all()):
        return None  # of these records it seems to tell nothing
    sizes = np.abs(middles)
    size = np.where(sizes < NOT_FINITE, sizes, 0.0).max(axis=0)
    allowed = _allowed(knowledge, statistic, size)
    exact = np.max(ranges, axis=0) <= allowed
    finite = sizes.min(axis=0) < NOT_FINITE
    return Told(statistic=statistic, clean=exact, off=allowed) if exact[finite].any() else None


def _allowed(knowledge: Knowledge, statistic: Statistic, size: Vector) -> Vector:
    """Return how far a statistic moves by rounding alone."""
    return statistic.rounded(knowledge, size) + _SAME * np.maximum(size, 1e-3)
