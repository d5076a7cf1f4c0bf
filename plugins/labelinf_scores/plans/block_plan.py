"""The plan of a block attack: which records each query asks about, with which weights, and how its answer is read.

A plan is made before anything is asked, from what is public alone. Blocks are laid one after another; each takes the
most records for which one of the designs (:mod:`labelinf_scores.plans.designs`) has a certificate
(:mod:`labelinf_scores.certificates.interval`).
"""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.certificates.interval import UnitReading, certify_any_order, certify_in_order
from labelinf_scores.certificates.row_costs import LOG_ERROR, CostedRow
from labelinf_scores.certificates.summation import Spread, to_float
from labelinf_scores.constructions.rows import RowMaker, rows_for
from labelinf_scores.constructions.weights import Code
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.designs import MOST_ROWS, Design, Designer

__all__ = ["Block", "BlockPlanner", "decode_blocks"]

_SPLIT = 3  # widest rows told apart in a proof
_DWARFS = 16  # times the widest gap: from here on, neutral rows dwarf the others
_PATIENCE = 8  # a size is given up when it has failed on so many blocks, beyond twice its successes


@attrs.frozen(kw_only=True)
class Block:
    """One query.

    Attributes:
        start: First record it asks about.
        design: Its rows.
        reading: How its answer is read, with the proof.
    """

    start: int
    design: Design
    reading: UnitReading

    @property
    def records(self) -> slice:
        """The records it asks about."""
        return slice(self.start, self.start + self.size)

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.design.weights)

    def decode(self, score: Any) -> NDArray[np.intp]:
        """Return the labels behind an answer."""
        return decode_blocks([self], [score])[0]


@attrs.frozen(kw_only=True)
class BlockPlanner:
    """Lays blocks for one curator.

    Attributes:
        threat: What is public.
        codes: Families of weights to choose from, preferred ones first.
        proper: Whether rows of probabilities sum to one.
        adaptive: Whether rows of records already decoded are set to their labels, so that later sums are finer.
    """

    threat: ScoreThreat
    codes: tuple[Code, ...]
    proper: bool = True
    adaptive: bool = False

    @functools.cached_property
    def rows(self) -> RowMaker:
        """Makes the rows."""
        return rows_for(self.threat, proper=self.proper)

    @functools.cached_property
    def _designer(self) -> Designer:
        return Designer(rows=self.rows, codes=self.codes)

    def blocks(self) -> Iterator[Block]:
        """Yield blocks until all records are asked about, or none can be certified any more.

        Raises:
            ValueError: The loss or the format has no neutral rows, or none for settled labels where they are needed.
        """
        neutral = to_float(self.rows.neutral.low[0])
        dtype = self.threat.arithmetic if self.threat.arithmetic in LOG_ERROR else "float64"
        base = np.full(self.threat.n_records, neutral, dtype=dtype)
        start, total = 0, float(base.sum())
        while start < len(base) and (block := self._largest(base, start, total)) is not None:
            yield block
            start = block.records.stop
            if self.adaptive:
                base[block.records] = to_float(self.rows.settled(0).low[0])
                total = float(base.sum())

    def predictions(self, block: Block) -> NDArray[Any]:
        """Return the rows of a block's records, shape ``(m, K)``."""
        return np.stack([row.prediction for row, _ in self.with_steps(block.design)])

    def with_steps(self, design: Design) -> list[tuple[CostedRow, int]]:
        """Return the rows of a block's records, each with its step in fixed point."""
        rows = self._designer.with_steps(design)
        return [rows[place] for place in design.order]

    def settled(self, labels: NDArray[np.intp]) -> NDArray[Any]:
        """Return the rows of records whose labels are known, shape ``(n, K)``."""
        rows = [self.rows.settled(label).prediction for label in range(self.threat.n_classes)]
        return np.stack(rows)[labels]

    def _largest(self, base: NDArray[np.floating], start: int, total: float) -> Block | None:
        for n_rows in range(min(len(base) - start, self._ceiling(total)), 0, -1):
            for design in self._for_any_order(n_rows, total):
                reading = self._read_any_order(design, start if self.adaptive else 0)
                if reading.is_certain:
                    return Block(start=start, design=design, reading=reading)
            for design in self._for_known_order(n_rows, total):
                rows = dict(enumerate(self.with_steps(design), start))
                split = 0 if total > _DWARFS * self.rows.widest else _SPLIT  # where neutral rows dwarf no others
                reading = certify_in_order(self.threat, base, rows, design.unit, split)
                if reading.is_certain:
                    self._tally[n_rows, _binades(total)] += 2
                    return Block(start=start, design=design, reading=reading)
            self._tally[n_rows, _binades(total)] -= 1
        return None

    def _ceiling(self, total: float) -> int:
        """The most rows for which there is any design that has not failed on many blocks."""
        n_rows = MOST_ROWS
        while n_rows > 1 and (
            self._tally[n_rows, _binades(total)] <= -_PATIENCE
            or not (self._for_any_order(n_rows, total) or self._for_known_order(n_rows, total))
        ):
            n_rows -= 1
        return n_rows

    def _for_any_order(self, n_rows: int, total: float) -> list[Design]:
        return self._remember(("any order", n_rows, _binades(total)), self._designer.for_any_order, n_rows, total)

    def _for_known_order(self, n_rows: int, total: float) -> list[Design]:
        return self._remember(("known order", n_rows, _binades(total)), self._designer.for_known_order, n_rows, total)

    def _remember(
        self, key: Hashable, make: Callable[[int, float], Iterator[Design]], n_rows: int, total: float
    ) -> list[Design]:
        if key not in self._designs:
            self._designs[key] = list(make(n_rows, total))
        return self._designs[key]

    def _read_any_order(self, design: Design, n_settled: int) -> UnitReading:
        key = (design, n_settled)
        if key not in self._readings:
            neutral, others = self.rows.neutral, self.threat.n_records - n_settled - len(design.weights)
            known = n_settled * self.rows.settled(0).low[0] if n_settled else 0
            rest = Spread(others * neutral.low[0] + known, others * neutral.high[0] + known, 0)
            spreads = [row.spread(step) for row, step in self._designer.with_steps(design)]
            self._readings[key] = certify_any_order(self.threat, rest, spreads, design.unit, design.margin)
        return self._readings[key]

    @functools.cached_property
    def _designs(self) -> dict[Hashable, list[Design]]:
        return {}

    @functools.cached_property
    def _readings(self) -> dict[Hashable, UnitReading]:
        return {}

    @functools.cached_property
    def _tally(self) -> Counter[Hashable]:
        return Counter()


def decode_blocks(blocks: Sequence[Block], scores: Sequence[Any]) -> list[NDArray[np.intp]]:
    """Return the labels behind the answers to many blocks; blocks of one design are decoded together."""
    alike = defaultdict(list)
    for place, block in enumerate(blocks):
        alike[block.design].append(place)
    labels: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)] * len(blocks)
    for design, places in alike.items():
        totals = [blocks[place].reading.read(scores[place]) for place in places]
        decoded = design.code.decode(design.weights, totals)[:, list(design.order)]
        for place, row in zip(places, decoded, strict=True):
            labels[place] = row
    return labels


def _binades(total: float) -> int:
    """Return what of a sum decides how it is rounded; designs are made anew when it changes."""
    return math.frexp(total)[1]
