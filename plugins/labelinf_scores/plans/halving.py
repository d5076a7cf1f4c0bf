"""Which sets to count next, where what was counted may be heeded: groups with known counts are halved (M10).

A detecting matrix that is fixed beforehand counts single records. At the top of every one of its sets a count may have
any range, so that a group of fresh records can stand there, whose count is known a turn later. One half of such a group
may be added *or* taken away, since the count of the other half follows: one label more for every query of the next
turn. Where one class is rare, all records begin as a single group.

Example:
    >>> labels = np.array([1, 0, 0, 1, 1, 0, 1, 1])
    >>> state, found = Halving.of(np.arange(8), 5), np.full(8, -1)
    >>> while (turn := state.turn()) is not None:
    ...     counts = turn.decode([int(labels[row.records].sum()) for row in turn.rows()])
    ...     for records, label in state.learned(turn, counts):
    ...         found[records] = label
    >>> found
    array([1, 0, 0, 1, 1, 0, 1, 1])
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.bit_sets import queries_needed
from labelinf_scores.constructions.mixed_sets import SetColumns, layout
from labelinf_scores.decoders.moebius import decode_columns

__all__ = ["CountedGroup", "Halving", "Turn", "expected"]

Records = NDArray[np.intp]

_TOGETHER = (4, 2)  # fresh records in a group, as long as much follows, and later
_FIRST = 0.55  # of the queries of a matrix that is fixed beforehand: what the first turn asks, or less


@attrs.frozen(kw_only=True, eq=False)
class _Counted:
    """What a column counts: positives in ``records``, which are a half of a group where there are ``others``."""

    records: Records
    others: Records | None = None
    both: int = 0  # positives in the group

    @property
    def least(self) -> int:
        return 0 if self.others is None else max(0, self.both - self.others.size)

    @property
    def most(self) -> int:
        return self.records.size if self.others is None else min(self.both, self.records.size)


class CountedGroup(NamedTuple):
    """Records whose positives are to be counted, and how many there are at least and at most."""

    records: Records
    least: int
    most: int


class Turn:
    """Queries that are asked before any of them is heeded."""

    def __init__(self, columns: SetColumns, counted: Sequence[_Counted]) -> None:
        self._columns, self.counted = columns, counted
        parts = [(at, 1, each.records) for at, each in enumerate(counted)]
        parts += [(at, -1, each.others) for at, each in enumerate(counted) if each.others is not None]
        sizes = [part.size for _, _, part in parts]
        self._records = np.concatenate([part for _, _, part in parts])
        self._column, self._side = (np.repeat([part[i] for part in parts], sizes) for i in (0, 1))
        self._least, self._most, self._both = np.array([(each.least, each.most, each.both) for each in counted]).T

    @property
    def n_queries(self) -> int:
        """How many rows there are."""
        return self._columns.n_sets - self._columns.first

    def rows(self) -> Iterator[CountedGroup]:
        """Yield what is to be counted."""
        for x in range(self._columns.first, self._columns.n_sets):
            entries = self._columns.row(x)
            ends = self._added(entries, self._least, self._most), self._added(entries, self._most, self._least)
            yield CountedGroup(self._records[entries[self._column] == self._side], *ends)

    def _added(self, entries: NDArray[np.int64], own: NDArray[np.int64], other: NDArray[np.int64]) -> int:
        """Return the positives in a row if every column's records have their ``own``, or halves taken instead do."""
        return int(own[entries > 0].sum() + (self._both - other)[entries < 0].sum())

    def decode(self, counts: Sequence[int]) -> list[int]:
        """Return the positives among the records of every column.

        Raises:
            ValueError: No labels have these counts.
        """
        answers = np.zeros(self._columns.n_sets, dtype=np.int64)
        for x, count in enumerate(counts, start=self._columns.first):
            answers[x] = count - self._added(self._columns.row(x), self._least, self._least)
        more = decode_columns(self._columns, answers, (self._most - self._least + 1).tolist())
        return [low + above for low, above in zip(self._least.tolist(), more, strict=True)]


@attrs.define(kw_only=True, eq=False)
class Halving:
    """What is known of some records so far, but for labels that are settled.

    Attributes:
        fresh: Records of which nothing is known.
        groups: Those whose count is known, and that are not of one class.
        limit: Queries of the next turn at most; None: as many as it takes.
        largest: Records that a row may hold; None: all of them.
    """

    fresh: Records
    groups: list[tuple[Records, int]]
    limit: int | None = None
    largest: int | None = None

    @classmethod
    def of(cls, records: Records, count: int, largest: int | None = None) -> Halving:
        """Begin with records of which ``count`` are positive.

        Args:
            records: In the order in which they are asked about.
            count: Positives among them.
            largest: Records that a row may hold; None: all of them.
        """
        if 0 < count < records.size and expected(records.size, count, largest)[1]:
            return cls(fresh=records[:0], groups=[(records, count)])
        return cls._single(records, largest)

    @classmethod
    def _single(cls, records: Records, largest: int | None) -> Halving:
        share = int(_FIRST * queries_needed(records.size))
        limit = None if largest is not None else (1 << (share + 1).bit_length() - 1) - 1 or None
        return cls(fresh=records, groups=[], limit=limit, largest=largest)

    def turn(self, n_queries: float = math.inf) -> Turn | None:
        """Return the next queries, no more than that; None when all labels are known but for one, which totals give."""
        if not self.groups and self.fresh.size <= 1:
            return None
        if self.largest is None:
            return self._turn(min(n_queries, self.limit or math.inf))
        found = self._turn(min(n_queries, max(1, self.largest // 2)))
        while found.n_queries > 1 and (held := max(row.records.size for row in found.rows())) > self.largest:
            found = self._turn(max(1, min(found.n_queries - 1, found.n_queries * self.largest // held)))
        return found

    def _turn(self, n_queries: float) -> Turn:
        halves = [np.array_split(records, 2) for records, _ in self.groups]
        splits = [
            _Counted(records=left, others=right, both=count)
            for (left, right), (_, count) in zip(halves, self.groups, strict=True)
        ]
        later = self.limit is None and self.largest is None
        places = layout(
            [split.most - split.least + 1 for split in splits],
            n_fresh=max(0, self.fresh.size - 1),
            together=min(_TOGETHER[later], self.largest or self.fresh.size),
            n_sets=None if math.isinf(n_queries) else int(n_queries),
        )
        taken = np.cumsum([0, *(place.n_fresh for place in places)])
        counted = [
            splits[place.split] if place.split is not None else _Counted(records=self.fresh[start:stop])
            for place, start, stop in zip(places, taken, taken[1:], strict=False)
        ]
        return Turn(SetColumns(places), counted)

    def learned(self, turn: Turn, counts: Sequence[int]) -> list[tuple[Records, int]]:
        """Take note of what a turn counted; return the records whose label that settles, and the label."""
        halved = {int(each.records[0]) for each in turn.counted if each.others is not None}
        groups = [(records, count) for records, count in self.groups if int(records[0]) not in halved]
        settled = []
        for each, own in zip(turn.counted, counts, strict=True):
            parts = [(each.records, own)]
            if each.others is None:
                self.fresh = self.fresh[each.records.size :]
            else:
                parts.append((each.others, each.both - own))
            for records, count in parts:
                if 0 < count < records.size:
                    groups.append((records, count))
                else:
                    settled.append((records, int(count > 0)))
        self.groups, self.limit = groups, None
        return settled


@functools.lru_cache(maxsize=64)
def expected(n_records: int, n_positive: int, largest: int | None = None) -> tuple[int, bool]:
    """Return the queries for labels in some random order, and whether all records had better begin as one group."""
    records = np.arange(n_records)
    labels = np.random.default_rng(0).permutation(records < n_positive)
    begun = [(Halving._single(records, largest), False)]
    if largest is None:
        begun.append((Halving(fresh=records[:0], groups=[(records, n_positive)]), True))
    return min((_simulated(state, labels), rare) for state, rare in begun)


def _simulated(state: Halving, labels: NDArray[np.bool_]) -> int:
    queries = 0
    while (turn := state.turn()) is not None:
        queries += turn.n_queries
        state.learned(turn, [int(labels[each.records].sum()) for each in turn.counted])
    return queries
