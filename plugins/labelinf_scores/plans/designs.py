"""Designs of one block: with which weights and which unit its rows could carry labels.

For m rows the candidates are, in this order:

* the widest unit that fits, a real number, certified for any order of additions: best where noise or rounding is far
  coarser than the curator's own arithmetic;
* gaps that are multiples of nothing, each wider than those before it together, for predictions that are too coarse
  for any unit; likewise for any order;
* numbers of few bits near the widest unit, certified for the curator's order, in several positions against the grid
  of its floats, until no rounding tie is left: best where nothing but its arithmetic stands between.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import attrs

from labelinf_scores.certificates.interval import answer_width, rounding_width
from labelinf_scores.certificates.row_costs import CostedRow, adds_known_floats
from labelinf_scores.certificates.summation import to_fixed, to_float
from labelinf_scores.constructions.rows import LossRows, RowMaker
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["MOST_ROWS", "Design", "Designer"]

MOST_ROWS = 128  #: in one query, whatever the precision

_VARIANTS = 16  # of weights and order, tried for one size
_ROTATION = 7
_EXPONENTS = 2  # powers of two tried as units
_GRAIN_BITS = 12  # of the error of an answer: a gap that is a multiple of nothing is written down to so many


class Design(NamedTuple):
    """What the rows of one block are.

    Attributes:
        code: What the weights are, and how sums are decoded.
        weights: In units, narrowest first.
        unit: In fixed point.
        order: Which of the weights each record takes, from the first record on.
        margin: How far apart different sums are at least, in fixed point.
    """

    code: Code
    weights: tuple[int, ...]
    unit: int
    order: tuple[int, ...]
    margin: int


@attrs.frozen(kw_only=True)
class Designer:
    """Lists designs for one curator.

    Attributes:
        rows: Makes the rows.
        codes: Families of weights to choose from, preferred ones first.
    """

    rows: RowMaker
    codes: tuple[Code, ...]

    @property
    def _threat(self) -> ScoreThreat:
        return self.rows.threat

    def with_steps(self, design: Design) -> list[tuple[CostedRow, int]]:
        """Return the rows of a design, narrowest first, each with its step in fixed point."""
        steps = [weight * design.unit for weight in design.weights]
        return [(self.rows.row(step), step) for step in steps]

    def for_any_order(self, n_rows: int, total: float) -> Iterator[Design]:
        """Yield designs to be certified for any order of additions.

        Args:
            n_rows: m.
            total: What all rows cost as long as they are neutral.
        """
        for code in self.codes:
            weights = code.weights(n_rows)
            unit = self._widest_unit(weights)
            if unit > self._answer_width(total, weights, unit) + rounding_width(self._threat, total):
                yield from self._existing(code, weights, unit, _order(n_rows, 0))
        if self._threat.n_classes == 2 and isinstance(self.rows, LossRows):
            yield from self._written_down(self.rows, n_rows, total)

    def for_known_order(self, n_rows: int, total: float) -> Iterator[Design]:
        """Yield designs to be certified for the curator's order of additions; none where it is not known."""
        if not adds_known_floats(self._threat, self.rows.neutral):
            return
        tried: set[float] = set()
        for code in self.codes:
            weights = code.weights(n_rows)
            for unit in _few_bit_numbers(self._widest_unit(weights)):
                if unit not in tried and unit > self._answer_width(total, weights, unit):
                    tried.add(unit)
                    yield from self._positions(code, n_rows, unit)

    def _written_down(self, rows: LossRows, n_rows: int, total: float) -> Iterator[Design]:
        largest = total + 2 * rows.widest
        error = answer_width(self._threat, largest) + rounding_width(self._threat, largest)
        grain = math.ldexp(1.0, math.frexp(error)[1] - _GRAIN_BITS)
        unit, margin = to_fixed(grain), math.ceil(error / grain) + 2 * MOST_ROWS
        weights = self._gaps(rows, unit, margin)
        if n_rows <= len(weights):
            yield Design(Superincreasing(), weights[:n_rows], unit, _order(n_rows, 0), margin * unit)

    def _gaps(self, rows: LossRows, unit: int, margin: int) -> tuple[int, ...]:
        """Return gaps in units, each wider by the margin than those before it together; as many as there are."""
        if (unit, margin) not in self._known_gaps:
            gaps: list[int] = []
            with contextlib.suppress(ValueError):
                for _ in range(MOST_ROWS):
                    gaps.append(rows.at_least((margin + sum(gaps)) * unit, unit))
            self._known_gaps[unit, margin] = tuple(gaps)
        return self._known_gaps[unit, margin]

    @functools.cached_property
    def _known_gaps(self) -> dict[tuple[int, int], tuple[int, ...]]:
        return {}

    def _positions(self, code: Code, n_rows: int, unit: float) -> Iterator[Design]:
        near_one = round(math.log(1 / unit, self._threat.n_classes))
        nudged = max(0, min(near_one, code.n_widened(n_rows) - 1))
        for variant in range(_VARIANTS):
            widen = functools.partial(self._widen, to_fixed(unit), nudged, variant)
            yield from self._existing(code, code.weights(n_rows, widen), unit, _order(n_rows, variant))

    def _widen(self, unit: int, nudged: int, nudge: int, place: int, least: int) -> int:
        return self.rows.weight(least, unit, nudge if place == nudged else 0)

    def _existing(self, code: Code, weights: tuple[int, ...], unit: float, order: tuple[int, ...]) -> Iterator[Design]:
        """Yield the design if the curator's format has all its rows, to within a unit in all."""
        design = Design(code, weights, to_fixed(unit), order, to_fixed(unit))
        with contextlib.suppress(ValueError):
            if sum(row.spread(step).width for row, step in self.with_steps(design)) < design.unit:
                yield design

    def _widest_unit(self, weights: tuple[int, ...]) -> float:
        return self.rows.widest / ((self._threat.n_classes - 1) * max(weights)) * (1 - 2.0**-40)

    def _answer_width(self, total: float, weights: tuple[int, ...], unit: float) -> float:
        least = total - len(weights) * to_float(self.rows.neutral.low[0])
        return answer_width(self._threat, least + (self._threat.n_classes - 1) * sum(weights) * unit)


def _order(n_rows: int, variant: int) -> tuple[int, ...]:
    """Return one of several orders: ascending or descending, rotated."""
    places = [(place + variant // 2 * _ROTATION) % n_rows for place in range(n_rows)]
    return tuple(places[::-1] if variant % 2 else places)


def _few_bit_numbers(limit: float) -> Iterator[float]:
    """Yield numbers of at most three bits up to ``limit``, the coarsest first, then halves of the first."""
    mantissa, exponent = math.frexp(limit)
    for bits in (1, 2, 3):
        yield math.ldexp(math.floor(mantissa * 2**bits), exponent - bits)
    yield from (math.ldexp(0.5, exponent - lower) for lower in range(1, _EXPONENTS))
