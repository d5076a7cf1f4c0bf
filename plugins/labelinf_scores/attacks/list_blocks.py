"""Blocks on top of a ranked list: what a block's labels are worth, in tables, and which of them an answer leaves.

The records of a block take a rank each, everything else is tied below, so that a score is a function of the block's
labels and the class totals (M1). Of *discounts* that is a sum (M19), which one more answer, of everybody tied, reads
closely. Of the *average precision* it is a sum once the positives of the first half are counted: a positive at rank r
is worth the count so far over r (M21). Small ranks have few denominators, and many labellings of the same worth; so
known records, tied, stand on top of all where there are some and the block is a long one. A record alone has none above
it, or it may be worth as much positive as negative.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.attacks.metric_attack import MetricSession, released
from labelinf_scores.decoders.between import Halves, halves, sums_between
from labelinf_scores.metrics.readings.discounts import SCALE, Ndcg
from labelinf_scores.metrics.readings.lists import AveragePrecision

__all__ = ["Blocks", "Discounts", "Precisions"]

_SPACERS = 24  # known records above a block: more than there are small denominators
_LONG = 12  # records of a block from which on there are spacers
_FINE = 56  # sums, which stay below 32, are tabulated in units of 2**-56
_DRAWS = 256


class Blocks(Protocol):
    """How blocks are asked about under one metric."""

    board: MetricSession
    most: int  #: records of a block at most

    def spread(self, asked: NDArray[np.intp]) -> tuple[float, float]:
        """Return the standard deviation of what random labels of a block are worth, and how long an interval is."""
        ...

    def ask(self, asked: NDArray[np.intp]) -> NDArray[np.int8] | None:
        """Ask about a block, and return all labellings that fit, shape ``(n, m)``; None when it was refused."""
        ...


def _on_top(board: MetricSession, asked: NDArray[np.intp]) -> NDArray[np.float64]:
    found = np.zeros(board.labels.size)
    found[asked] = np.arange(asked.size, 0, -1)
    return found


def _drawn(board: MetricSession, size: int) -> NDArray[np.intp]:
    share = board.totals.n_positive / board.totals.n_records
    return (np.random.default_rng(0).random((_DRAWS, size)) < share).astype(np.intp)


@attrs.define(kw_only=True, eq=False)
class Discounts:
    """Blocks of NDCG.

    Attributes:
        board: What is asked.
        metric: What is scored.
        tied: The score of everybody tied; None where that does not help, or before it is asked.
    """

    board: MetricSession
    metric: Ndcg
    tied: Fraction | None = None

    @property
    def most(self) -> int:
        """No more than forty, nor than there are ranks that count."""
        return min(40, self.metric.k or 40)

    def start(self) -> None:
        """Ask for the score of everybody tied, where scores are shown in full and blocks can grow by it."""
        shown = not self.board.oracle.threat.noise_bound and not self.metric.k
        if shown and self.board.oracle.remaining > 1:
            try:
                self.tied = Fraction(float(self.board.oracle.query(np.zeros(self.board.labels.size))))
            except QueryRefusedError:
                self.tied = None

    def expect(self) -> None:
        """Suppose that what is asked first is known, and what it is."""
        if not self.board.oracle.threat.noise_bound and not self.metric.k:
            self.tied = self.metric.level(self.board.totals)

    def spread(self, asked: NDArray[np.intp]) -> tuple[float, float]:
        """Return the standard deviation of sums of gaps, and the length of an interval, both in units of a discount."""
        low, high, gaps = self._told(asked, self.tied or self.metric.level(self.board.totals))
        sums = _drawn(self.board, asked.size) @ (np.array(gaps, dtype=np.float64) / 2.0**SCALE)
        return float(sums.std()), float((high - low) / (1 << SCALE))

    def ask(self, asked: NDArray[np.intp]) -> NDArray[np.int8] | None:
        """Ask, and look up what fits.

        Raises:
            ValueError: What the answer says of the block cannot be told.
        """
        try:
            answer = self.board.oracle.query(_on_top(self.board, asked))
        except QueryRefusedError:
            return None
        low, high, gaps = self._told(asked, Fraction(float(answer)))
        cut = SCALE - _FINE
        coarse = tuple(gap >> cut for gap in gaps)  # off by one unit at most, each
        least, most = math.floor(low) >> cut, math.floor(high) >> cut
        found = sums_between([_halves(coarse)], least - asked.size - 1, most + 1, n_labels=asked.size)
        sums = found.astype(object) @ np.array(gaps, dtype=object)
        return np.asarray(found[np.array((sums >= low) & (sums <= high), dtype=bool)])

    @property
    def _released(self) -> Any:
        return released(self.board.oracle.threat)

    def _told(self, asked: NDArray[np.intp], score: Fraction) -> tuple[Fraction, Fraction, list[int]]:
        predictions, totals = _on_top(self.board, asked), self.board.totals
        told = self.board.told(self.metric.reading(predictions, score, totals, self._released), asked)
        low, high = told.low, told.high
        if self.tied is not None:
            reading = self.metric.beside(predictions, score, self.tied, totals, self._released)
            close = self.board.told(reading, asked)
            low, high = max(low, close.low), min(high, close.high)
        return low, high, [int(gap) for gap in told.gaps]


@functools.lru_cache(maxsize=4)
def _halves(gaps: tuple[int, ...]) -> Halves:
    return halves(gaps)


@attrs.define(kw_only=True, eq=False)
class Precisions:
    """Blocks of the average precision.

    Attributes:
        board: What is asked.
        metric: What is scored.
    """

    board: MetricSession
    metric: AveragePrecision
    most: int = 36

    def start(self) -> None:
        """Nothing is asked beforehand."""

    def expect(self) -> None:
        """Nothing is known beforehand."""

    def spread(self, asked: NDArray[np.intp]) -> tuple[float, float]:
        """Return the standard deviation of what labels are worth, and the length of an interval, P times the score."""
        spacers, positive = self._spacers(asked.size)
        labels = _drawn(self.board, asked.size)
        counts = positive + labels.cumsum(axis=1)
        worth = (labels * counts / (spacers.size + 1 + np.arange(asked.size))).sum(axis=1)
        worth -= labels.sum(axis=1) * self.board.totals.n_positive / self.board.totals.n_records
        low, high = self._interval(self._predictions(asked, spacers), Fraction(1, 2))
        return float(worth.std()), float(high - low)

    def ask(self, asked: NDArray[np.intp]) -> NDArray[np.int8] | None:
        """Ask, and look up what fits."""
        spacers, positive = self._spacers(asked.size)
        predictions, totals = self._predictions(asked, spacers), self.board.totals
        try:
            answer = self.board.oracle.query(predictions)
        except QueryRefusedError:
            return None
        low, high = self._interval(predictions, Fraction(float(answer)))
        last = Fraction(totals.n_positive, totals.n_records)
        apart = Fraction(positive * positive, max(1, spacers.size)) + (totals.n_positive - positive) * last
        unit, slack = 1 << _FINE, 2 * asked.size + 1  # every worth is off by one unit, and so is every last one
        least, most = int((low - apart) * unit) - slack, int((high - apart) * unit) + slack
        tables = _tables(asked.size, spacers.size, positive, last)
        found = sums_between(tables, least, most, n_labels=asked.size)
        fitting = [low <= self._worth(labels, spacers.size, positive, last) + apart <= high for labels in found]
        return np.asarray(found[np.array(fitting, dtype=bool)])

    @staticmethod
    def _worth(labels: NDArray[np.int8], spacers: int, positive: int, last: Fraction) -> Fraction:
        places = np.flatnonzero(labels).tolist()
        worth = (Fraction(positive + i + 1, spacers + place + 1) - last for i, place in enumerate(places))
        return sum(worth, Fraction(0))

    def _spacers(self, size: int) -> tuple[NDArray[np.intp], int]:
        """Return the known records above the block, and how many of them are positive."""
        known = self.board.known
        chosen = known[: _SPACERS if known.size >= _SPACERS and size >= _LONG else 0]
        return chosen, int(self.board.labels[chosen].sum())

    def _predictions(self, asked: NDArray[np.intp], spacers: NDArray[np.intp]) -> NDArray[np.float64]:
        found = _on_top(self.board, asked)
        found[spacers] = asked.size + 1
        return found

    def _interval(self, predictions: NDArray[np.float64], score: Fraction) -> tuple[Fraction, Fraction]:
        """Return between which values P times the exact score lies."""
        totals = self.board.totals
        error = self.metric.error(predictions, totals)
        low, high = released(self.board.oracle.threat).interval(score, error)
        return low * totals.n_positive, high * totals.n_positive


@functools.lru_cache(maxsize=4)
def _tables(size: int, spacers: int, positive: int, last: Fraction) -> tuple[Halves, ...]:
    """Return the worths of a block's labels: a table for every number of positives that its first half may have."""
    n_first = size // 2
    first, counts = _worths(range(n_first), spacers, positive, last)
    tables = []
    for count in range(n_first + 1):
        second, _ = _worths(range(n_first, size), spacers, positive + count, last)
        chosen = np.flatnonzero(counts == count)
        tables.append(Halves.of(first[chosen], chosen, second))
    return tuple(tables)


def _worths(places: range, spacers: int, positive: int, last: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the worths of all labellings of some places, in counting order, and how many positives they have."""
    sums, counts = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for place in places:
        worth = [
            ((Fraction(positive + count + 1, spacers + place + 1) - last) * (1 << _FINE)).__round__()
            for count in range(len(places))
        ]
        sums = np.concatenate([sums, sums + np.array(worth, dtype=np.int64)[np.minimum(counts, len(places) - 1)]])
        counts = np.concatenate([counts, counts + 1])
    return sums, counts
