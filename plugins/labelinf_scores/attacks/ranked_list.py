"""Ranks asked about at random places: every labelling that all answers so far leave is kept, and grows by new records.

A sum of ranks tells ``log2`` of its spread in bits, whatever its places are; a design that holds all sums apart for
every labelling gives a third of that away. So some sixteen records stand at random places among the known ones, half of
them tied with one, and the labellings that fit the answer are kept; what they all share is decided, and as many new
records join as keep the list short. Labels are written down only where one value is left (M2): nothing hangs on chance
but how many queries it takes. A list that decides nothing for some time is helped by one record asked about alone,
which decides while the interval is shorter than a record's gap.

Exact sums leave room for more: a group on top of all, chosen by a detecting matrix, is worth a multiple of its gap, so
that the list is read from the sum modulo that gap, and the count of the group from what is left (as M14 does with
2-adic digits, but with no condition on places or gaps).
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.attacks.metric_attack import MetricAnswer, MetricSession
from labelinf_scores.constructions.bit_sets import BitSets, n_columns
from labelinf_scores.decoders.exhaustive import all_sums, as_costs, labels_of_index
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.metrics.readings import Totals

__all__ = ["RankedList", "expected_rate"]

_LONGEST = 1 << 17  #: labellings that are kept, before an answer
_BATCHES = (15, 31, 63, 127, 255, 511, 1023, 2047)
_CLOSING = 2  # queries before a budget ends that decide what is on the list, and take in nothing new
_PATIENCE = 6  # answers that decide nothing before a record is asked about alone
_HOPELESS = 60  # and before nothing more is asked at all
_FEW = 32  # known records up to which all places are used, above the rest and below
_COARSE = 1 / 8  # of N: an interval from which on places below the rest tell more
_GAIN = 0.93  # of the bits of a sum that a list of this length takes in, as measured
_SPREAD = 9.5  # of N: what the sums of a list spread over, as measured (569 labels at 2 to 5 decimals)
_NOBODY = np.empty(0, dtype=np.intp)


@attrs.define(kw_only=True, eq=False)
class RankedList:
    """The labellings that are left of the records asked about.

    Attributes:
        board: What is asked.
        width: How long the interval is that an answer leaves; 0: a whole number.
        records: The records on the list, shape ``(m,)``.
        options: One labelling a row, shape ``(n, m)``.
        held: Records of a batch, which is not decoded yet.
        stalled: Answers since a label was decided.
    """

    board: MetricSession
    width: int
    records: NDArray[np.intp] = _NOBODY
    options: NDArray[np.int8] = attrs.field(factory=lambda: np.zeros((1, 0), dtype=np.int8))
    held: NDArray[np.intp] = _NOBODY
    stalled: int = 0

    def play(self) -> None:
        """Ask until every label is known, a query is refused, or nothing is decided any more.

        Raises:
            QueriesExhaustedError: The budget is spent.
            ValueError: An answer fits no labels.
        """
        while self.width == 0 and (n_queries := self._batch_size()):
            if not self._batch(BitSets(n_queries=n_queries)):
                return
        while self.board.unknown.size and self._goes_on():
            pass

    def _goes_on(self) -> bool:
        """Ask once more, and settle; whether that may be worth while again."""
        alone = self.records.size and self.stalled % _PATIENCE == _PATIENCE - 1
        asked = self._ask_alone() if alone else self._ask(_NOBODY) is not None
        self._settle()
        return asked and self.stalled < _HOPELESS

    def _batch(self, design: BitSets) -> bool:
        """Ask about the group that every row of a detecting matrix puts on top, beside the list; whether it ended."""
        self.held = self._fresh()[: n_columns(design.n_queries)]
        pending: list[tuple[NDArray[np.intp], MetricAnswer]] = []
        for x in range(1, design.n_queries + 1):
            found = self._ask(self.held[design.row(x, self.held.size) == 1])
            if found is None:
                return False
            pending.append(found)
            self._settle()
        while self.records.size:  # what the counts are depends on them
            if not self._goes_on():
                return False
        counts = [_count(told, self.board.labels[asked]) for asked, told in pending]
        self.board.settle(self.held, decode_bit_sets(design, np.array(counts), self.held.size))
        self.held = _NOBODY
        return True

    def _batch_size(self) -> int:
        """Return how many queries a batch should have, by estimates of what they read; 0 for none."""
        share = self.board.totals.n_positive / self.board.totals.n_records
        each = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
        # Three quarters of N times the root of the number of records is four standard deviations, more or less.
        spread = 3.1 * self.board.totals.n_records * math.sqrt(math.log2(_LONGEST))
        single, beside = _GAIN * math.log2(spread) / each, _GAIN * math.log2(self.board.totals.n_records) / each
        left = self.board.unknown.size
        costs = {0: left / single}
        for size in _BATCHES:
            read = n_columns(size) + size * beside
            if read <= left and size + _PATIENCE <= self.board.oracle.remaining:  # or it would not be decoded
                costs[size] = size + 1 + (left - read) / single
        return min(costs, key=costs.__getitem__)

    def _fresh(self) -> NDArray[np.intp]:
        """Return the unknown records that are neither on the list nor held."""
        free = self.board.labels < 0
        free[self.records] = free[self.held] = False
        return np.flatnonzero(free)

    def _ask(self, top: NDArray[np.intp]) -> tuple[NDArray[np.intp], MetricAnswer] | None:
        """Ask about the records on the list, as many new ones as keep it short, and a group; None when refused."""
        fresh = self._fresh()
        closing = self.records.size and self.board.oracle.remaining <= _CLOSING
        draining = closing or (self.held.size and not top.size)
        room = 0 if draining else int(math.log2(max(1, _LONGEST // len(self.options))))
        joining = fresh[:room]
        asked = np.concatenate([self.records, joining])
        predictions = self._places(asked)
        predictions[top] = predictions.max() + 1
        told = self.board.ask(predictions, np.concatenate([asked, top]))
        if told is None:
            return None
        self._keep(told, joining, fresh.size - joining.size + self.held.size, top.size)
        return asked, told

    def _ask_alone(self) -> bool:
        """Ask about the record that splits the list best, above all others."""
        best = int(np.abs(2 * self.options.sum(axis=0, dtype=np.int64) - len(self.options)).argmin())
        pivot, known = self.records[best : best + 1], self.board.known
        predictions = np.zeros(self.board.labels.size)
        predictions[known], predictions[pivot] = np.arange(1, known.size + 1), known.size + 1
        told = self.board.ask(predictions, pivot)
        if told is None:
            return False
        worth = self.options[:, best].astype(np.int64) * int(told.gaps[0])
        self.options = self.options[(worth >= math.ceil(told.low)) & (worth <= math.floor(told.high))]
        return True

    def _places(self, asked: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return predictions: the rest at 0, above it, or on both sides, the records asked about among known ones."""
        rng = self.board.rng
        known, asked = self.board.known, rng.permutation(asked)
        predictions = np.zeros(self.board.labels.size)
        if known.size <= _FEW or self.width > _COARSE * predictions.size:
            known = rng.permutation(known)
            turned, lower = asked[: asked.size // 2], known[: known.size // 2]
            predictions[np.concatenate([turned, lower])] = -self._side(turned.size, lower.size)
            asked, known = asked[turned.size :], known[lower.size :]
        predictions[np.concatenate([asked, known])] = self._side(asked.size, known.size)
        return predictions

    def _side(self, n_asked: int, n_known: int) -> NDArray[np.float64]:
        """Return places on one side: of the records asked about, every other tied with a known one, then of those."""
        n_places = n_asked + n_known
        lowest = n_known // 2 if n_known > _FEW else 0
        chosen = lowest + self.board.rng.choice(n_places - lowest, n_asked, replace=False)
        free = np.ones(n_places + 1, dtype=bool)
        free[chosen] = free[-1] = False
        places = chosen + 1.0
        places[::2] += free[chosen[::2] + 1]
        return np.concatenate([places, np.flatnonzero(free) + 1.0])

    def _keep(self, told: MetricAnswer, joining: NDArray[np.intp], others: int, n_top: int) -> None:
        """Keep what fits the answer and the class totals, with every labelling of the records that join."""
        m = self.records.size
        gaps = np.asarray(told.gaps, dtype=np.int64)
        new = all_sums(as_costs(gaps[m : m + joining.size])) if joining.size else np.zeros(1, dtype=np.int64)
        most, length = math.floor(told.high), math.floor(told.high) - math.ceil(told.low)
        left = most - ((self.options.astype(np.int64) @ gaps[:m])[:, None] + new)
        fits = (left >= 0) & (left <= length + n_top * int(gaps[-1]))
        if n_top:  # the group is worth a multiple of its gap, and the sum is exact
            fits &= left % int(gaps[-1]) == 0
        one, two = np.nonzero(fits)
        found = np.concatenate([self.options[one], labels_of_index(two, joining.size, 2).astype(np.int8)], axis=1)
        positive, all_left = found.sum(axis=1, dtype=np.int64), int(self.board.left[1])
        self.options = found[(positive <= all_left) & (positive >= all_left - others)]
        self.records = np.concatenate([self.records, joining])

    def _settle(self) -> None:
        """Write down what all labellings share.

        Raises:
            ValueError: None is left.
        """
        if not len(self.options):
            raise ValueError("the answers fit no labels")
        shared = (self.options == self.options[0]).all(axis=0)
        self.stalled = 0 if shared.any() or not self.records.size else self.stalled + 1
        found = self.options[0, shared].astype(np.intp)
        self.board.settle(self.records[shared], found)
        self.records, self.options = self.records[~shared], self.options[:, ~shared]


def expected_rate(totals: Totals, width: int) -> float:
    """Return about how many labels a query reads where an answer leaves an interval of this width."""
    share = totals.n_positive / totals.n_records
    each = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    return max(0.0, _GAIN * math.log2(_SPREAD * totals.n_records / (width + 1)) / each)


def _count(told: MetricAnswer, labels: NDArray[np.intp]) -> int:
    """Return how many of the group on top are positive, the labels of the list being known.

    Raises:
        ValueError: No number of them is worth what is left.
    """
    gaps = [int(gap) for gap in told.gaps]
    left = math.ceil(told.low) - sum(gap for gap, label in zip(gaps, labels.tolist(), strict=False) if label)
    count, remainder = divmod(left, gaps[-1])
    if remainder or not 0 <= count <= len(gaps) - labels.size:
        raise ValueError("no labels have this sum")
    return count
