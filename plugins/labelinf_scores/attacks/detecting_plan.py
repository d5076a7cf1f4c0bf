"""The plan of a detecting attack: which rows every query sends, and how its answer is read.

Queries come in groups of ``2**k``. In a group every query has b *private* records, with gaps of 1, 2, ..., ``2**(b-1)``
units, and pushes the group's *shared* records by ``2**b`` units, up, down or not at all, by its row of the detecting
matrix D_k. So N times the score is ``n`` units plus a known rest: the low b bits of n are the private labels, and
``n >> b`` is the number of shared records whose label agrees with the push, a row of ``D_k x`` up to a constant.

The rest is known up to an interval (:func:`labelinf_scores.certificates.interval.certify_any_order`), which every
query's own number of pushed records goes into.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_scores.attacks.probe import Probe
from labelinf_scores.certificates.error import assumed_disturbance
from labelinf_scores.certificates.interval import Reading, certify_any_order, last_place
from labelinf_scores.certificates.row_costs import ROW_BITS, CostedRow, costed_row
from labelinf_scores.certificates.summation import Spread, to_fixed, to_float
from labelinf_scores.constructions.detecting_matrix import DetectingMatrix
from labelinf_scores.constructions.rows import Rows, rows_for
from labelinf_scores.decoders.detecting import detect

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_core.channels.score import ScoreOracle, ScoreThreat

__all__ = ["DetectingPlan", "Group", "capacity"]

_MOST_PRIVATE = 44  # records of one query: a count of units and of pushed records fits into 63 bits
_FULL = 1 - 2.0**-40  # of the span: the widest gap must not round to more than all of it


def capacity(queries: int, n_private: int) -> int:
    """Return how many labels q queries recover: one group of ``2**k`` for every bit k of q.

    Args:
        queries: q.
        n_private: b, private records of every query.
    """
    return queries * n_private + sum(DetectingMatrix(level=level).n_columns for level in _levels(queries))


@attrs.frozen(kw_only=True)
class Group:
    """``2**k`` queries and the records they share.

    Attributes:
        start: First of its records.
        stop: Where they end; a last group may be short.
        matrix: How shared records are pushed.
        n_private: b. The private records of all queries come first, the shared ones last.
    """

    start: int
    stop: int
    matrix: DetectingMatrix
    n_private: int

    @property
    def shared(self) -> slice:
        """The records that all its queries share."""
        return slice(min(self.start + self.n_private * self.matrix.n_rows, self.stop), self.stop)

    def private(self, index: int) -> slice:
        """Return the records that only one query asks about."""
        start = self.start + self.n_private * index
        return slice(min(start, self.stop), min(start + self.n_private, self.shared.start))

    def ways(self, index: int) -> NDArray[np.int8]:
        """Return how one query pushes the shared records: -1, 0 or 1 each."""
        return self.matrix.row(index)[: self.shared.stop - self.shared.start]

    def decode(self, counts: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the labels behind what was read, -1 where it does not tell.

        Args:
            counts: Units of every query's answer, shape ``(2**k,)``; -1 where there is none.
        """
        labels = np.full(self.stop - self.start, -1, dtype=np.intp)
        n_private, n_shared = self.shared.start - self.start, self.shared.stop - self.shared.start
        bits = np.where(counts[:, None] < 0, -1, counts[:, None] >> np.arange(self.n_private) & 1)
        labels[:n_private] = bits.ravel()[:n_private]
        if n_shared and (counts >= 0).all():
            downs = [int(np.count_nonzero(self.ways(t) < 0)) for t in range(self.matrix.n_rows)]
            labels[n_private:] = detect((counts >> self.n_private) - downs)[:n_shared]
        return labels


@attrs.frozen(kw_only=True)
class DetectingPlan:
    """Groups of queries to one curator of two classes.

    Attributes:
        threat: What is public.
        n_private: b, private records of every query.
    """

    threat: ScoreThreat
    n_private: int = attrs.field(validator=[attrs.validators.ge(0), attrs.validators.le(_MOST_PRIVATE)])

    @classmethod
    def largest(cls, threat: ScoreThreat) -> DetectingPlan:
        """Return the plan with the most private records whose answers are all read right; none if even that fails.

        Raises:
            ValueError: The curator's format or loss has no such rows.
        """
        for n_private in range(_ceiling(rows_for(threat)), 0, -1):
            plan = cls(threat=threat, n_private=n_private)
            if plan.is_certain:
                return plan
        return cls(threat=threat, n_private=0)

    @functools.cached_property
    def n_queries(self) -> int:
        """The fewest queries that recover all labels."""
        n = self.threat.n_records
        return bisect.bisect_left(range(n + 1), n, key=lambda queries: capacity(queries, self.n_private))

    @functools.cached_property
    def groups(self) -> tuple[Group, ...]:
        """What is asked, as far as the budget goes."""
        budget = self.threat.query_budget
        start, groups = 0, []
        for level in _levels(self.n_queries if budget is None else min(budget, self.n_queries)):
            matrix = DetectingMatrix(level=level)
            stop = min(start + self.n_private * matrix.n_rows + matrix.n_columns, self.threat.n_records)
            groups.append(Group(start=start, stop=stop, matrix=matrix, n_private=self.n_private))
            start = stop
        return tuple(groups)

    @property
    def is_certain(self) -> bool:
        """Whether every labelling is read right, as far as unbounded noise stays within what is assumed of it."""
        return all(reading.is_certain for reading in self.readings())

    @functools.cached_property
    def survives(self) -> float:
        """Error of a score below which every label is recovered: half a unit."""
        return to_float(self._unit) / 2 / self.threat.n_records

    @functools.cached_property
    def present(self) -> float:
        """Largest error of a score in any query that the reading does not already account for."""
        return max((reading.present for reading in self.readings()), default=0.0)

    def readings(self) -> Iterator[Reading]:
        """Yield how the answer of every query is read, the heaviest group first."""
        for group in self.groups:
            yield from (self.reading(group, index) for index in range(group.matrix.n_rows))

    def reading(self, group: Group, index: int) -> Reading:
        """Return how the answer of one query is read, with the proof."""
        ways, private = group.ways(index), group.private(index)
        key = (int(np.count_nonzero(ways < 0)), int(np.count_nonzero(ways > 0)), private.stop - private.start)
        if key not in self._readings:
            self._readings[key] = self._certify(*key)
        return self._readings[key]

    def ask(self, oracle: ScoreOracle, group: Group, index: int) -> int:
        """Ask one query of a group and return how many units its answer has.

        Raises:
            QueriesExhaustedError: The budget is spent.
            QueryRefusedError: The curator declines.
        """
        ways, private = group.ways(index), group.private(index)
        placed = np.zeros(self.threat.n_records, dtype=np.intp)
        placed[group.shared] = ways
        predictions = self._pushes[placed + 1]
        n_private = private.stop - private.start
        if n_private:
            predictions[private] = np.stack([row.prediction for row in self._private[:n_private]])
        read = self.reading(group, index).read(self._probe.answer(oracle, predictions))
        # Noise beyond what the plan survives must not look like no answer at all.
        n_pushed = int(np.count_nonzero(ways))
        return max(0, min(read, (n_pushed + 1 << self.n_private) - 1))

    def _certify(self, n_down: int, n_up: int, n_private: int) -> Reading:
        down, _, up = self._pushed
        step = self._unit << self.n_private
        cost, others = self._neutral, self.threat.n_records - n_down - n_up - n_private
        terms = [
            # Pushed down, a label adds a gap where it is 0.
            _times(n_down, down.reversed().spread(step)),
            _times(n_up, up.spread(step)),
            *(row.spread(self._unit << place) for place, row in enumerate(self._private[:n_private])),
        ]
        return certify_any_order(self.threat, _times(others, cost), terms, self._unit)

    @functools.cached_property
    def _maker(self) -> Rows:
        return rows_for(self.threat)

    @functools.cached_property
    def _probe(self) -> Probe:
        return Probe(threat=self.threat, bits=ROW_BITS)

    @functools.cached_property
    def _unit(self) -> int:
        return to_fixed(math.ldexp(self._maker.widest * _FULL, -self.n_private))

    @functools.cached_property
    def _private(self) -> list[CostedRow]:
        return [self._maker.row(self._unit << place) for place in range(self.n_private)]

    @functools.cached_property
    def _pushed(self) -> tuple[CostedRow, CostedRow, CostedRow]:
        """Rows pushed down, at rest and pushed up."""
        up = self._maker.row(self._unit << self.n_private)
        return costed_row(self.threat, up.prediction[::-1].copy()), self._maker.neutral, up

    @functools.cached_property
    def _pushes(self) -> NDArray[Any]:
        return np.stack([row.prediction for row in self._pushed])

    @functools.cached_property
    def _neutral(self) -> Spread:
        return self._maker.neutral.spread(0)

    @functools.cached_property
    def _readings(self) -> dict[tuple[int, int, int], Reading]:
        return {}


def _levels(queries: int) -> list[int]:
    """Return the levels of the groups, largest first."""
    return [level for level in reversed(range(queries.bit_length())) if queries >> level & 1]


def _ceiling(maker: Rows) -> int:
    """The most private records for which a unit is wider than what one answer stands for."""
    threat, cost = maker.threat, to_float(maker.neutral.low[0])
    answer = threat.n_records * (last_place(threat, cost) + 2 * assumed_disturbance(threat, cost))
    return min(_MOST_PRIVATE, max(0, math.frexp(maker.widest / answer)[1])) if answer else _MOST_PRIVATE


def _times(count: int, term: Spread) -> Spread:
    """Return the spread of so many equal rows."""
    return Spread(count * term.low, count * term.high, count * term.top)
