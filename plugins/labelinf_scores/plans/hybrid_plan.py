"""The plan of the hybrid attack: private records under a modulus, detected records above it.

Every query of a group asks about some *private* records, with powers of two times a unit, and about all *detected*
records of the group, each with plus or minus the modulus, the least weight above all private ones together, by one row
of a detecting matrix. An answer is a whole number; modulo the modulus it holds the private labels, above it one
weighing of the detected ones. Where rounding or noise limits the gaps, this uses what otherwise goes to waste: a score
may be as large as it likes, it is only a single row that cannot span more than the clip.

With s private records and q queries a group holds ``q s + C(q)`` records
(:func:`~labelinf_scores.constructions.detecting_matrix.n_columns`): labelinf theory, the hybrid.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.certificates.interval import (
    UnitReading,
    answer_width,
    certify_any_order,
    certify_in_order,
    rounding_width,
)
from labelinf_scores.certificates.row_costs import LOG_ERROR, CostedRow, adds_known_floats
from labelinf_scores.certificates.summation import Spread, to_fixed, to_float
from labelinf_scores.constructions.detecting_matrix import n_columns, queries_needed
from labelinf_scores.constructions.rows import RowMaker, rows_for
from labelinf_scores.constructions.weights import superincreasing
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.hybrid_group import Group, HybridQuery, Weighing

__all__ = ["HybridPlanner"]

_GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64)  # tried where the curator's own arithmetic is the limit
_MOST_PRIVATE = 60
_VARIANTS = 16


@attrs.frozen(kw_only=True)
class HybridPlanner:
    """Lays groups for one question to every record: on which side of a partition its label is.

    Attributes:
        threat: What is public.
        levels: The side of every label, 0 or 1.
        most_private: Largest number of private records in a query; 0 for a detecting matrix and nothing else.
        most_queries: Queries that may be used; None for as many as it takes.
    """

    threat: ScoreThreat
    levels: tuple[int, ...] = (0, 1)
    most_private: int = _MOST_PRIVATE
    most_queries: int | None = None

    @functools.cached_property
    def rows(self) -> RowMaker:
        """Makes the rows."""
        return rows_for(self.threat)

    def groups(self) -> Iterator[Group]:
        """Yield groups until all records are asked about, or none can be certified any more."""
        size, private = self._best_size()
        start, left = 0, self.most_queries
        while size and start < self.threat.n_records and left != 0:
            records = self.threat.n_records - start
            n_queries = min(size, queries_needed(records, private), left or size)
            group = self._group(start, n_queries, private)
            if group is None:
                return
            yield group
            start, left = group.stop, None if left is None else left - n_queries

    def predictions(self, group: Group, weighing: Weighing) -> NDArray[Any]:
        """Return the rows of all records, shape ``(N, K)``."""
        sent = np.tile(self.rows.neutral.prediction, (self.threat.n_records, 1))
        signs, detected = group.signs(weighing), sent[group.detected]
        for sign, (row, _) in self._sides(weighing).items():
            detected[signs == sign] = row.prediction
        for record, (row, _) in enumerate(self._private(weighing), weighing.private.start):
            sent[record] = row.prediction
        return sent

    @property
    def _neutral_cost(self) -> float:
        return to_float(self.rows.neutral.low[0])

    @functools.cached_property
    def _widest(self) -> float:
        return self.rows.widest_question(self.levels) * (1 - 2.0**-40)

    @property
    def _knows_the_order(self) -> bool:
        return adds_known_floats(self.threat, self.rows.neutral)

    def _best_size(self) -> tuple[int, int]:
        """Return how many queries a group has and how many private records a query, by what they hold together."""
        whole = self._whole()
        if not self._knows_the_order or (whole[0] and self._noise_rules()):
            return whole
        sizes = [(size, self._private_by_order(size)) for size in _GROUP_SIZES]
        best = max(sizes, key=lambda item: item[1] + n_columns(item[0]) / item[0])
        return max(whole, best, key=lambda item: item[1] + n_columns(item[0]) / max(item[0], 1))

    def _noise_rules(self) -> bool:
        """Whether the defences disturb the score more than its own arithmetic does."""
        total = self._neutral_cost * self.threat.n_records
        return answer_width(self.threat, total) > 4 * rounding_width(self.threat, total)

    def _whole(self) -> tuple[int, int]:
        """Return the same for a single group that holds all records, whatever the order of additions."""
        total = self._neutral_cost * self.threat.n_records
        for private in range(self.most_private, -1, -1):
            n_queries = queries_needed(self.threat.n_records, private)
            if self.most_queries is not None:
                n_queries = min(n_queries, self.most_queries)
            largest = total + self._widest * (2 + min(n_columns(n_queries), self.threat.n_records))
            error = answer_width(self.threat, largest) + rounding_width(self.threat, largest)
            if self._widest / 2**private > error:
                return n_queries, private
        return 0, 0

    def _private_by_order(self, size: int) -> int:
        """Return how many private records a query can have, as far as the width of an answer goes."""
        largest = self._neutral_cost * self.threat.n_records + self._widest * (2 + n_columns(size))
        private = self.most_private
        while private and 2.0 ** (math.frexp(self._widest)[1] - 1 - private) <= answer_width(self.threat, largest):
            private -= 1
        return private

    def _group(self, start: int, n_queries: int, private: int) -> Group | None:
        stop = min(start + n_columns(n_queries), self.threat.n_records)
        group = Group(detected=slice(start, stop), n_rows=n_queries, queries=())
        for row in range(n_queries):
            query = self._query(group, row, stop, private)
            if query is None:
                return None
            group = attrs.evolve(group, queries=(*group.queries, query))
            stop = query.weighing.private.stop
        return group

    def _query(self, group: Group, row: int, start: int, private: int) -> HybridQuery | None:
        """Return the query with the most private records that can be certified."""
        for n_private in range(min(private, self.threat.n_records - start), -1, -1):
            records = slice(start, start + n_private)
            for weights, unit in self._designs(n_private):
                weighing = Weighing(row=row, private=records, weights=weights, unit=unit)
                reading = self._certify(group, weighing)
                if reading.is_certain:
                    return HybridQuery(weighing=weighing, reading=reading)
        return None

    def _designs(self, n_private: int) -> list[tuple[tuple[int, ...], int]]:
        """Return weights and units for a number of private records, as far as the format has the rows."""
        if n_private not in self._listed:
            self._listed[n_private] = [design for design in self._candidates(n_private) if self._exists(*design)]
        return self._listed[n_private]

    @functools.cached_property
    def _listed(self) -> dict[int, list[tuple[tuple[int, ...], int]]]:
        return {}

    def _candidates(self, n_private: int) -> Iterator[tuple[tuple[int, ...], int]]:
        plain = superincreasing(n_private)
        yield plain, to_fixed(self._widest / (sum(plain) + 1))
        if not self._knows_the_order or self._noise_rules():
            return
        unit = 2.0 ** (math.frexp(self._widest)[1] - 1 - n_private)
        nudged = max(0, min(n_private - 1, round(-math.log2(unit))))
        for nudge in range(_VARIANTS):
            weights = superincreasing(n_private, 2, functools.partial(_nudge, nudged, nudge))
            if (sum(weights) + 1) * unit <= self._widest:
                yield weights, to_fixed(unit)

    def _exists(self, weights: tuple[int, ...], unit: int) -> bool:
        """Whether the rows can be had to within a unit in all."""
        steps = [weight * unit for weight in (*weights, sum(weights) + 1)]
        try:
            return sum(self.rows.question(step, self.levels).spread(step).width for step in steps) < unit
        except ValueError:
            return False

    def _certify(self, group: Group, weighing: Weighing) -> UnitReading:
        reading = self._certify_any_order(group, weighing)
        if reading.is_certain or not self._knows_the_order or self._noise_rules():
            return reading
        dtype = self.threat.arithmetic if self.threat.arithmetic in LOG_ERROR else "float64"
        base = np.full(self.threat.n_records, self._neutral_cost, dtype=dtype)
        sides, signs = self._sides(weighing), group.signs(weighing)
        rows = {group.detected.start + int(i): sides[int(signs[i])] for i in np.flatnonzero(signs)}
        rows |= dict(enumerate(self._private(weighing), weighing.private.start))
        return certify_in_order(self.threat, base, rows, weighing.unit)

    def _certify_any_order(self, group: Group, weighing: Weighing) -> UnitReading:
        signs, neutral = group.signs(weighing), self.rows.neutral
        terms = [row.spread(step) for row, step in self._private(weighing)]
        for sign, (row, step) in self._sides(weighing).items():
            spread, count = row.spread(step), int(np.count_nonzero(signs == sign))
            terms.append(Spread(spread.low * count, spread.high * count, spread.top * count))
        others = self.threat.n_records - len(weighing.weights) - int(np.count_nonzero(signs))
        rest = Spread(others * neutral.low[0], others * neutral.high[0], 0)
        return certify_any_order(self.threat, rest, terms, weighing.unit)

    def _private(self, weighing: Weighing) -> list[tuple[CostedRow, int]]:
        steps = [weight * weighing.unit for weight in weighing.weights]
        return [(self.rows.question(step, self.levels), step) for step in steps]

    def _sides(self, weighing: Weighing) -> dict[int, tuple[CostedRow, int]]:
        step = weighing.modulus * weighing.unit
        other = tuple(1 - level for level in self.levels)
        return {1: (self.rows.question(step, self.levels), step), -1: (self.rows.question(step, other), step)}


def _nudge(nudged: int, nudge: int, place: int, least: int) -> int:
    return least + nudge if place == nudged else least
