"""The plan of a block attack: which records each query asks about, with which weights, and how its answer is read.

A plan is made before anything is asked, from what is public alone. Blocks are laid one after another; each takes the
most records for which a certificate holds (:mod:`labelinf_scores.certificates.interval`). For m rows with weights w
the candidates are, in this order:

* the widest unit that fits, a real number, certified for any order of additions: best where noise or rounding is far
  coarser than the curator's own arithmetic;
* powers of two near it, certified for NumPy's order, with a row nudged until no rounding tie is left: best where
  nothing but the curator's arithmetic stands between;
* gaps that are multiples of nothing, each wider than those before it together, for predictions that are too coarse
  for any unit.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np

from labelinf_scores.certificates.error import SIGNIFICANT_BITS, assumed_disturbance, chain_length
from labelinf_scores.certificates.interval import Reading, certify_any_order, certify_numpy, last_place
from labelinf_scores.certificates.row_costs import LOG_ERROR, CostedRow
from labelinf_scores.certificates.summation import Spread, to_fixed, to_float
from labelinf_scores.constructions.rows import LossRows, Rows, rows_for
from labelinf_scores.constructions.weights import Superincreasing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_core.channels.score import ScoreThreat
    from labelinf_scores.constructions.weights import Code

__all__ = ["Block", "BlockPlanner"]

_VARIANTS = 16  # of weights and order, tried for one size
_ROTATION = 7
_EXPONENTS = 2  # powers of two tried as units
_SPLIT = 3  # widest rows told apart in a proof
_DWARFS = 16
_GRAIN_BITS = 12  # of the error of an answer: a gap is written down to so many
_PATIENCE = 4  # a size is given up when it has failed on so many blocks, beyond twice its successes
_MOST_ROWS = 128  # in one query, whatever the precision


@attrs.frozen(kw_only=True)
class Block:
    """One query.

    Attributes:
        start: First record it asks about.
        code: What its weights are, and how sums are decoded.
        weights: One per record, in units, narrowest first.
        order: Which of the weights each record takes, from the first record on.
        reading: How its answer is read, with the proof.
    """

    start: int
    code: Code
    weights: tuple[int, ...]
    order: tuple[int, ...]
    reading: Reading

    @property
    def records(self) -> slice:
        """The records it asks about."""
        return slice(self.start, self.start + len(self.weights))

    def decode(self, score: Any) -> NDArray[np.intp]:
        """Return the labels behind an answer."""
        labels: NDArray[np.intp] = self.code.decode(self.weights, [self.reading.read(score)])[0]
        return labels[list(self.order)]


@attrs.frozen(kw_only=True)
class BlockPlanner:
    """Lays blocks for one curator.

    Attributes:
        threat: What is public.
        codes: Families of weights to choose from, preferred ones first.
        proper: Whether rows of probabilities sum to one.
        adaptive: Whether rows of records already decoded are set to their labels, so that later sums are finer.
        rows_per_block: Largest m; 0 for as many as a certificate allows.
    """

    threat: ScoreThreat
    codes: tuple[Code, ...]
    proper: bool = True
    adaptive: bool = False
    rows_per_block: int = 0

    @functools.cached_property
    def maker(self) -> Rows:
        """Makes the rows."""
        return rows_for(self.threat, proper=self.proper)

    def blocks(self) -> Iterator[Block]:
        """Yield blocks until all records are asked about, or none can be certified any more."""
        neutral = to_float(self.maker.neutral.low[0])
        base = np.full(self.threat.n_records, neutral, dtype=self._dtype)
        start, total = 0, float(base.sum())
        while start < len(base) and (block := self._largest(base, start, total)) is not None:
            yield block
            start = block.records.stop
            if self.adaptive:
                base[block.records] = to_float(self.maker.settled(0).low[0])
                total = float(base.sum())

    def predictions(self, block: Block) -> NDArray[Any]:
        """Return the rows of a block's records, shape ``(m, K)``."""
        rows = self._rows(block.weights, block.reading.unit)
        return np.stack([rows[place].prediction for place in block.order])

    def _largest(self, base: NDArray[np.floating], start: int, total: float) -> Block | None:
        scale = _Scale(total=total, binades=(math.frexp(total)[1], math.frexp(total / len(base))[1]))
        for n_rows in range(min(len(base) - start, self._ceiling(scale)), 0, -1):
            for design in self._for_any_order(n_rows, scale):
                reading = self._read_any_order(design, start if self.adaptive else 0)
                if reading.is_certain:
                    return design.block(start, reading)
            for design in self._for_numpy(n_rows, scale):
                steps = self._with_steps(design)
                rows = {start + i: steps[place] for i, place in enumerate(design.order)}
                reading = certify_numpy(self.threat, base, rows, design.unit, self._split(scale))
                if reading.is_certain:
                    self._tally[n_rows, scale.binades] += 2
                    return design.block(start, reading)
            self._tally[n_rows, scale.binades] -= 1
        return None

    def _ceiling(self, scale: _Scale) -> int:
        """The most rows for which there is any design that has not failed on several blocks."""
        n_rows = self.rows_per_block or _MOST_ROWS
        while n_rows > 1 and (
            self._tally[n_rows, scale.binades] <= -_PATIENCE
            or not (self._for_any_order(n_rows, scale) or self._for_numpy(n_rows, scale))
        ):
            n_rows -= 1
        return n_rows

    def _for_any_order(self, n_rows: int, scale: _Scale) -> list[_Design]:
        """Designs of the widest units that fit, and of gaps written down as they are."""
        return self._remember(
            ("any order", n_rows, scale.binades),
            lambda: [*self._wide(n_rows, scale.total), *self._written_down(n_rows, scale.total)],
        )

    def _for_numpy(self, n_rows: int, scale: _Scale) -> list[_Design]:
        """Designs whose units are few-bit numbers, in many positions against the grid."""
        return self._remember(("numpy", n_rows, scale.binades), lambda: list(self._aligned(n_rows, scale.total)))

    def _remember(self, key: Hashable, make: Callable[[], list[_Design]]) -> list[_Design]:
        if key not in self._designs:
            self._designs[key] = make()
        return self._designs[key]

    def _wide(self, n_rows: int, total: float) -> Iterator[_Design]:
        for code in self.codes:
            weights = code.weights(n_rows)
            unit = self._widest_unit(weights)
            if unit > self._coarsest_answer(total, weights, unit) + self._added_roundings(total):
                yield from self._existing(_Design(code, weights, to_fixed(unit), tuple(range(n_rows))))

    def _written_down(self, n_rows: int, total: float) -> Iterator[_Design]:
        """Yield a design of two classes whose gaps are no multiples of anything: predictions are too coarse for that.

        Every gap exceeds the gaps before it, together with the margin; a fine grain writes them down.
        """
        if self.threat.n_classes > 2 or not isinstance(self.maker, LossRows):
            return
        error = self._coarsest_answer(total, (1,), 2 * self.maker.widest) + self._added_roundings(total)
        grain = math.ldexp(1.0, math.frexp(error)[1] - _GRAIN_BITS)
        weights, margin = self._gaps(to_fixed(grain), math.ceil(error / grain) + 2 * _MOST_ROWS)
        if n_rows <= len(weights):
            code, order = Superincreasing(n_classes=2), _order(n_rows, 0)
            yield _Design(code, weights[:n_rows], to_fixed(grain), order, margin * to_fixed(grain))

    def _gaps(self, unit: int, margin: int) -> tuple[tuple[int, ...], int]:
        """Return gaps in units, as many as there are, and the margin between their sums."""
        if (unit, margin) not in self._written:
            weights: list[int] = []
            with contextlib.suppress(ValueError):
                for _ in range(_MOST_ROWS):
                    row = self.maker.at_least((margin + sum(weights)) * unit)
                    weights.append((row.low[1] - row.high[0]) // unit)
                    self._made[weights[-1] * unit] = row
            self._written[unit, margin] = tuple(weights)
        return self._written[unit, margin], margin

    def _aligned(self, n_rows: int, total: float) -> Iterator[_Design]:
        if not self._adds_known_floats:
            return
        tried: set[float] = set()
        for code in self.codes:
            weights = code.weights(n_rows)
            for unit in _few_bit_numbers(self._widest_unit(weights)):
                if unit not in tried and unit > self._coarsest_answer(total, weights, unit):
                    tried.add(unit)
                    yield from self._positions(code, n_rows, unit)

    def _positions(self, code: Code, n_rows: int, unit: float) -> Iterator[_Design]:
        fixed = to_fixed(unit)
        near_one = round(math.log(1 / unit, self.threat.n_classes))
        nudged = max(0, min(near_one, code.n_widened(n_rows) - 1))
        for variant in range(_VARIANTS):
            widen = functools.partial(self._widen, fixed, nudged, variant)
            yield from self._existing(_Design(code, code.weights(n_rows, widen), fixed, _order(n_rows, variant)))

    def _widen(self, unit: int, nudged: int, nudge: int, place: int, least: int) -> int:
        return self.maker.weight(least, unit, nudge if place == nudged else 0)

    @property
    def _adds_known_floats(self) -> bool:
        is_ieee = self.threat.arithmetic in LOG_ERROR
        return is_ieee and self.threat.summation == "numpy" and self.maker.neutral.certain_cost is not None

    def _widest_unit(self, weights: tuple[int, ...]) -> float:
        return self.maker.widest / ((self.threat.n_classes - 1) * max(weights)) * (1 - 2.0**-40)

    def _added_roundings(self, total: float) -> float:
        """Twice the most that the roundings of a sum of ``total`` can add up to, in any order."""
        bits = SIGNIFICANT_BITS.get(self.threat.arithmetic)
        chain = chain_length(self.threat.n_records, self.threat.summation)
        return 2.5 * chain * total * 2.0**-bits if bits else 0.0

    def _coarsest_answer(self, total: float, weights: tuple[int, ...], unit: float) -> float:
        """What one answer stands for, in N times the score: no unit below can be read."""
        least = total - len(weights) * to_float(self.maker.neutral.low[0])
        largest = (least + (self.threat.n_classes - 1) * sum(weights) * unit) / self.threat.n_records
        noise = assumed_disturbance(self.threat, largest)
        return self.threat.n_records * (last_place(self.threat, largest) + 2 * noise)

    def _read_any_order(self, design: _Design, n_settled: int) -> Reading:
        key = (design, n_settled)
        if key not in self._readings:
            neutral, others = self.maker.neutral, self.threat.n_records - n_settled - len(design.weights)
            known = n_settled * self.maker.settled(0).low[0] if n_settled else 0
            rest = Spread(others * neutral.low[0] + known, others * neutral.high[0] + known, 0)
            spreads = [row.spread(step) for row, step in self._with_steps(design)]
            self._readings[key] = certify_any_order(self.threat, rest, spreads, design.unit, design.margin)
        return self._readings[key]

    def _with_steps(self, design: _Design) -> list[tuple[CostedRow, int]]:
        steps = [weight * design.unit for weight in design.weights]
        return [(self._row(step), step) for step in steps]

    def _split(self, scale: _Scale) -> int:
        """Groups of labellings pay only where neutral rows do not dwarf the others."""
        return 0 if scale.total > _DWARFS * self.maker.widest else _SPLIT

    def _existing(self, design: _Design) -> Iterator[_Design]:
        """Yield the design if the curator's format has all its rows, to within a unit in all."""
        with contextlib.suppress(ValueError):
            if sum(row.spread(step).width for row, step in self._with_steps(design)) < design.unit:
                yield design

    def _rows(self, weights: tuple[int, ...], unit: int) -> list[CostedRow]:
        return [self._row(weight * unit) for weight in weights]

    def _row(self, step: int) -> CostedRow:
        if step not in self._made:
            self._made[step] = self.maker.row(step)
        return self._made[step]

    @functools.cached_property
    def _written(self) -> dict[tuple[int, int], tuple[int, ...]]:
        return {}

    @functools.cached_property
    def _made(self) -> dict[int, CostedRow]:
        return {}

    @functools.cached_property
    def _designs(self) -> dict[Hashable, list[_Design]]:
        return {}

    @functools.cached_property
    def _readings(self) -> dict[Hashable, Reading]:
        return {}

    @functools.cached_property
    def _tally(self) -> Counter[Hashable]:
        return Counter()

    @property
    def _dtype(self) -> str:
        return self.threat.arithmetic if self.threat.arithmetic in LOG_ERROR else "float64"


@attrs.frozen(kw_only=True)
class _Scale:
    """What the neutral rows add up to; designs are made anew when a binade is left."""

    total: float
    binades: tuple[int, int]


class _Design(NamedTuple):
    code: Code
    weights: tuple[int, ...]
    unit: int
    order: tuple[int, ...]
    margin: int = 0

    def block(self, start: int, reading: Reading) -> Block:
        return Block(start=start, code=self.code, weights=self.weights, order=self.order, reading=reading)


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
