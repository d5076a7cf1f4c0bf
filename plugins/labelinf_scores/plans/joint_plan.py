"""Sizes and rows of the groups of a joint attack: what a double can tell, whatever a proof beforehand can.

A query has p *private* rows, whose gaps double, and the *detected* rows of its group, all at one gap above them, by the
signs of a detecting matrix (the hybrid). What its answer can tell is limited by how far apart neighbouring answers are:
of the last places of the sum S and of its quotient by N the coarser one. The narrowest gap is the last place of S.
Whether its multiples then pass all additions hangs on ties, which another row near 1 moves (*variants*).

Nothing hangs on these sizes but the number of queries: what an answer means is found by replaying the curator.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.certificates.error import chain_length
from labelinf_scores.certificates.row_costs import CostedRow, adds_known_floats
from labelinf_scores.certificates.summation import Spread, to_fixed, to_float
from labelinf_scores.constructions.detecting_matrix import n_columns
from labelinf_scores.constructions.log_rows import FreeRows, LogRows, ProperRows
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["VARIANTS", "JointPlanner", "QueryRows", "Size"]

VARIANTS = 16  #: of the rows of a query

_GROUPS = sorted({round(2 ** (k / 8)) for k in range(81)})  # queries of a group that are tried: 1 to 1024
_DENSITY = 1.5  # rows of a detecting matrix at +1 or -1, over its number of queries
_SPREAD = 2  # standard deviations of the sum that stay within its binade
_HALF = 0.4995  # of the widest gap: the largest sums then lie just above a power of two
_DARED = 3  # bits below the last place of the largest sum, where nothing but the asked rows makes it up
_ASKED_AGAIN = 2.0  # labels of a query of free rows, as measured
_SIGNIFICANT = 53
_MOST_PRIVATE = 60
_GAP_BITS = 24  # of gaps that are drawn: more of them coincide the rarer
_FEWEST_GAP_BITS = 8
_DRAWS = 16  # of a gap, for a row whose costs are certain
_SLIGHT = 2.0**-8  # what a variant may widen a gap of 1 by


@attrs.frozen(kw_only=True)
class Size:
    """What the queries of a group are.

    Attributes:
        queries: q, which is the number of rows of the detecting matrix, too.
        private: p, in every query.
        unit: The narrowest gap, a power of two.
    """

    queries: int
    private: int
    unit: float

    @property
    def capacity(self) -> int:
        """Records that the group can ask about."""
        return self.queries * self.private + n_columns(self.queries)


@attrs.frozen(kw_only=True, eq=False)
class QueryRows:
    """Rows of one query, the narrowest first, the detected one last: its costs are certain. Many queries have the same.

    Attributes:
        rows: As they are costed.
    """

    rows: tuple[CostedRow, ...]

    @functools.cached_property
    def predictions(self) -> NDArray[np.float64]:
        """What is sent, shape ``(p + 1, 2)``."""
        return np.array([row.prediction for row in self.rows])

    @functools.cached_property
    def costs(self) -> NDArray[np.float64]:
        """The least and the largest float that either label costs, shape ``(2, p + 1, 2)``."""
        return np.array([[list(map(to_float, ends)) for ends in (row.low, row.high)] for row in self.rows]).swapaxes(
            0, 1
        )

    @functools.cached_property
    def spreads(self) -> list[Spread]:
        """What they add, in steps of their gaps."""
        return [row.spread(row.low[1] - row.low[0]) for row in self.rows]

    def weigh(
        self, costs: NDArray[Any], detected: NDArray[np.intp], sign: NDArray[np.int8], labels: NDArray[np.intp]
    ) -> None:
        """Write into ``costs`` what detected records with these labels cost; those of sign 0 stay neutral."""
        weighed = sign != 0
        costs[detected[weighed]] = self.costs[0, -1][(labels ^ (sign < 0))[weighed]]


@attrs.frozen(kw_only=True)
class JointPlanner:
    """Chooses sizes and makes rows for one curator that computes in doubles.

    Attributes:
        threat: What is public.
        proper: Whether rows must sum to one.
    """

    threat: ScoreThreat
    proper: bool = True
    _variants: dict[Size, list[QueryRows]] = attrs.field(init=False, factory=dict, eq=False, repr=False)
    _surest: dict[tuple[int, int], CostedRow] = attrs.field(init=False, factory=dict, eq=False, repr=False)

    @functools.cached_property
    def rows(self) -> LogRows:
        """Makes the rows."""
        return ProperRows(threat=self.threat) if self.proper else FreeRows(threat=self.threat)

    @functools.cached_property
    def neutral(self) -> float:
        """What a neutral row costs."""
        return to_float(self.rows.neutral.low[0])

    @functools.cached_property
    def missing_requirement(self) -> str:
        """What it takes to replay the curator, and is not there; empty where all is."""
        if not adds_known_floats(self.threat, self.rows.neutral):
            return "needs additions in an order that is known"
        settled = [self.rows.settled(label) for label in (0, 1)]
        if len({cost for label, row in enumerate(settled) for cost in (row.low[label], row.high[label])}) > 1:
            return "needs a row for known labels whose cost is certain"
        try:
            self.gaps(self.safe(self.threat.n_records))
        except ValueError as problem:
            return str(problem)
        return ""

    def gaps(self, size: Size, variant: int = 0) -> QueryRows:
        """Return the rows of a query.

        Args:
            size: Of the group.
            variant: Units by which the row nearest to 1 is wider than need be.

        Raises:
            ValueError: There are no such rows.
        """
        if size.private < 0:
            raise ValueError("no gap within the clip stands out from the error of the sum")
        unit, total, rows = to_fixed(size.unit), 0, []
        nudged = round(-math.log2(size.unit))
        for place in range(size.private + 1):
            least = total + 1 + (variant if place == nudged else 0)
            if (least, unit) not in self._surest:  # variants share all rows up to the one that is nudged
                self._surest[least, unit] = self.rows.surest_row(least, unit)
            row = self._surest[least, unit]
            total += round((row.low[1] - row.low[0]) / unit)
            rows.append(row)
        if rows[-1].low != rows[-1].high:
            raise ValueError("no wide row has costs that are certain")
        return QueryRows(rows=tuple(rows))

    def error(self, largest: int) -> int:
        """Return how far N times an answer can be from the exact sum of the costs, in fixed point.

        Args:
            largest: A bound of the sum, in fixed point.
        """
        roundings = chain_length(self.threat.n_records, "numpy") + 2  # additions, the division, and one to spare
        return (largest * roundings >> (_SIGNIFICANT - 1)) + 1

    def safe(self, n_unknown: int) -> Size:
        """Return a single query that is read right whatever the labels: no two sums are within twice the error."""
        largest = to_fixed(self.neutral) * self.threat.n_records + (to_fixed(self._widest) << 2)
        private = min(n_unknown - 1, self._octaves(4 * to_float(self.error(largest))))
        return Size(queries=1, private=private, unit=self._widest / 2.0**private)

    def scattered(self, count: int, rng: np.random.Generator) -> list[CostedRow]:
        """Return ``count`` rows of wide gaps that are drawn, whose costs are certain; none where they are not found.

        Whichever of them all records have, sums of costs that are a unit of these gaps apart are told apart. There are
        none where the error leaves too few such units.

        Args:
            count: Of the rows.
            rng: Draws the gaps.
        """
        largest = self.threat.n_records * (to_fixed(self.neutral) + 2 * to_fixed(self._widest))
        octaves = min(_GAP_BITS, self._octaves(4 * to_float(self.error(largest))))
        rows: list[CostedRow] = []
        if octaves < _FEWEST_GAP_BITS:
            return rows
        unit = to_fixed(self._widest / 2.0**octaves)
        for units in rng.integers(2 ** (octaves - 1), 2**octaves, _DRAWS * count).tolist():
            with contextlib.suppress(ValueError):
                row = self.rows.row_near(units * unit)
                rows += [row] if row.low == row.high else []
            if len(rows) == count:
                return rows
        return []

    def best(self, n_unknown: int, most_queries: float) -> Size:
        """Return the group with the most labels a query for so many records."""
        sizes = [self._largest(q, n_unknown) for q in _GROUPS if q <= most_queries]
        rate, found = max(sizes, key=lambda told: min(told[0], n_unknown / told[1].queries))
        # No more private rows than it takes to be done as soon: wider gaps leave less in doubt.
        needed = math.ceil(n_unknown / math.ceil(n_unknown / rate)) if found.queries == 1 else n_unknown
        spare = max(0, min(found.private, (found.capacity - needed) // found.queries))
        found = attrs.evolve(found, private=found.private - spare, unit=found.unit * 2.0**spare)
        while found.private > 1 and not self.variants(found):
            found = attrs.evolve(found, private=found.private - 1, unit=found.unit * 2)
        return found

    def variants(self, size: Size) -> list[QueryRows]:
        """Return the rows of a query in all variants that exist."""
        if size not in self._variants:
            self._variants[size] = []
            with contextlib.suppress(ValueError):
                for variant in range(VARIANTS if self.proper and size.unit * VARIANTS < _SLIGHT else 1):
                    self._variants[size].append(self.gaps(size, variant))
        return self._variants[size]

    @functools.cached_property
    def _widest(self) -> float:
        """A power of two, so that units are last places; of free rows no such number, lest every other sum be a tie."""
        return 2.0 ** (math.frexp(self.rows.widest * 0.99)[1] - 1) if self.proper else self.rows.widest * _HALF

    def _octaves(self, unit: float) -> int:
        return min(_MOST_PRIVATE, math.frexp(self._widest / unit)[1] - 1)

    def _largest(self, queries: int, n_unknown: int) -> tuple[float, Size]:
        """Return a group whose narrowest gap is the last place of the sum, and the labels a query to expect of it."""
        n, weighed = self.threat.n_records, 1.0 if queries == 1 else _DENSITY * queries
        counted = weighed if queries == 1 else (weighed + _SPREAD * math.sqrt(weighed)) / 2
        total = max(0.0, n_unknown - weighed) * self.neutral + self._widest * (counted + 1) * (1 - 2.0**-20)
        place = float(np.spacing(total))
        coarser = max(1.0, n * float(np.spacing(total / n)) / place)
        private = self._octaves(place if self.proper else place / 2**_DARED)
        size = Size(queries=queries, private=private, unit=self._widest / 2.0**private)
        # Two of every 2 (1 - 1 / coarser) labellings have one quotient, and one label is asked about again.
        return size.capacity / queries - (2 * (1 - 1 / coarser) if self.proper else _ASKED_AGAIN), size
