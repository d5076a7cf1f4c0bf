"""Rows of predictions for a wanted gap, as the loss itself makes them, with what they cost at a given curator.

A design asks for rows in which label k costs ``k * step`` more than label 0, for neutral rows that cost the same
whatever the label, and for rows that ask on which of two sides a label is. Predictions may be too coarse to meet a
gap; then the next wider one is looked for, and written down as what it is.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic, make_arithmetic
from labelinf_scores.arithmetic.formats import format_named
from labelinf_scores.certificates.error import widest_summed
from labelinf_scores.certificates.row_costs import LOG_ERROR, ROW_BITS, SMALL, CostedRow, costed_row
from labelinf_scores.certificates.summation import to_float
from labelinf_scores.constructions.class_rows import class_rows
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["LossRows", "RowMaker", "format_of", "normalised", "room_of_proper_rows", "row_sum", "smallest_probability"]

_DOUBLE_BITS = 52
_DIVISIONS = 8  # by its sum, until a row is stable
_WIDEST_UNBOUNDED = 2.0**24  # gaps of unbounded losses; beyond, only the exponent grows


@attrs.frozen(kw_only=True)
class RowMaker(abc.ABC):
    """Makes rows for one curator.

    Attributes:
        threat: What is public about it.
    """

    threat: ScoreThreat

    @property
    @abc.abstractmethod
    def widest(self) -> float:
        """The largest difference between the costs of the first and the last label of one row."""

    @property
    @abc.abstractmethod
    def neutral(self) -> CostedRow:
        """A row that costs the same whatever the label."""

    def row(self, step: int) -> CostedRow:
        """Return the row in which label k costs nearest to ``k * step`` more than label 0; made once, then remembered.

        Args:
            step: In fixed point, at least 0.

        Raises:
            ValueError: No prediction has such costs.
        """
        if step not in self._rows:
            self._rows[step] = self._make(step)
        return self._rows[step]

    @abc.abstractmethod
    def _make(self, step: int) -> CostedRow:
        """Make a row; see :meth:`row`."""

    @functools.cached_property
    def _rows(self) -> dict[int, CostedRow]:
        return {}

    def question(self, step: int, levels: tuple[int, ...]) -> CostedRow:
        """Return the row in which every label costs nearest to its level times ``step``.

        Args:
            step: In fixed point, at least 0.
            levels: 0 or 1 for every label.

        Raises:
            ValueError: No prediction has such costs.
        """
        if levels == (0, 1):
            return self.row(step)
        if (step, levels) not in self._asked:
            self._asked[step, levels] = attrs.evolve(self._ask(step, levels), levels=levels)
        return self._asked[step, levels]

    def _ask(self, step: int, levels: tuple[int, ...]) -> CostedRow:
        """Make a row; see :meth:`question`."""
        if levels == (1, 0):
            row = self.row(step)
            return CostedRow(prediction=row.prediction[::-1], low=row.low[::-1], high=row.high[::-1])
        return costed_row(self.threat, _row_of_classes(self.threat, to_float(step), levels))

    @functools.cached_property
    def _asked(self) -> dict[tuple[int, tuple[int, ...]], CostedRow]:
        return {}

    def widest_question(self, levels: tuple[int, ...]) -> float:
        """Return the largest step of a question: what the labels on the other side share is lost."""
        return self.widest if len(levels) == 2 else self.widest - math.log(len(levels))

    def weight(self, least: int, unit: int, nudge: int) -> int:
        """Return which weight to take where any from ``least`` on will do.

        Args:
            least: In units.
            unit: In fixed point.
            nudge: How much wider than ``least``, to move the costs of the row against the grid of the floats.
        """
        return least + nudge

    def settled(self, label: int) -> CostedRow:
        """Return a row for a record whose label is known: that label costs next to nothing.

        Raises:
            ValueError: The loss or the format has no such row.
        """
        raise ValueError("rows of settled labels are made for the log-loss in float64 and float32 only")


@attrs.frozen(kw_only=True)
class LossRows(RowMaker):
    """Rows of any loss, in any arithmetic, as the loss itself makes them."""

    @functools.cached_property
    def widest(self) -> float:
        """The span of the loss, or of the numbers that predictions are made of."""
        if not self.threat.loss.is_log_loss:
            return min(self.threat.reach, _WIDEST_UNBOUNDED, widest_summed(self.threat)) * (1 - 2.0**-30)
        least = self.threat.clip or smallest_probability(format_of(self.threat))
        return room_of_proper_rows(math.log1p(-least) - math.log(least), self.threat.n_classes)

    @functools.cached_property
    def neutral(self) -> CostedRow:
        """The row without any step."""
        return self.row(0)

    def _make(self, step: int) -> CostedRow:
        """Return the row that the loss makes, clipped."""
        with self._numbers.context():
            steps = self._numbers.convert([to_float(step)])
            row = self._numbers.convert(self.threat.loss.rows(steps, self.threat.n_classes, self._numbers)[0])
            if self.threat.loss.is_log_loss and self._numbers.name in LOG_ERROR:
                row = normalised(row)
            if self.threat.clip:  # what the curator scores; at the very edge, rounding decides on which side a row is
                row = self._numbers.convert(np.clip(row, self.threat.clip, 1 - self.threat.clip))
        return costed_row(self.threat, row)

    def at_least(self, step: int, unit: int) -> int:
        """Return the gap, in whole units, of a row of two classes: at least ``step``, as little above as there is.

        Predictions may be too coarse to meet a gap. :meth:`row` returns this row when it is asked for what is returned.

        Raises:
            ValueError: There is no such row.
        """
        extra = 0
        while extra <= step:
            row = self._make(step + extra)
            gap = row.low[1] - row.high[0]
            if gap >= step:
                self._rows[gap // unit * unit] = row
                return gap // unit
            extra = max(2 * extra, step >> _DOUBLE_BITS)
        raise ValueError(f"no row has a gap of {to_float(step):.6g}")

    @functools.cached_property
    def _numbers(self) -> Arithmetic:
        return _sent_in(self.threat)


def _sent_in(threat: ScoreThreat) -> Arithmetic:
    """Return what rows are made in: a coarse curator is sent finer numbers, whose sum is one before it rounds them."""
    name = format_of(threat)
    finer = "float64" if name in SMALL else "exact" if threat.reads.fraction else name
    return make_arithmetic(finer).at_precision(ROW_BITS)


def _row_of_classes(threat: ScoreThreat, step: float, levels: tuple[int, ...]) -> NDArray[Any]:
    numbers = _sent_in(threat)
    with numbers.context():
        row = numbers.convert(class_rows(threat.loss, step * np.array([levels], dtype=float), numbers)[0])
        return normalised(row) if threat.loss.is_log_loss else row


def row_sum(row: NDArray[Any]) -> Any:
    """Return the sum of a row as a curator computes it for a whole array of them."""
    return row[None].sum(axis=1)[0]


def normalised(row: NDArray[Any]) -> NDArray[Any]:
    """Divide a row by its sum until that changes nothing, so that a curator may do it again."""
    for _ in range(_DIVISIONS):
        divided = row / row_sum(row)
        if (divided == row).all():
            break
        row = divided
    return row


def format_of(threat: ScoreThreat) -> str:
    """Return the name of the format that predictions are read in."""
    return threat.input_format or threat.arithmetic


def smallest_probability(arithmetic: str) -> float:
    """Return the least positive probability that a format holds with full precision."""
    known = format_named(arithmetic)
    return known.normal if known.significant else 2.0 ** -min(known.fraction or 53, 53)


def room_of_proper_rows(room: float, n_classes: int) -> float:
    """Return the largest gap ``(K - 1) s`` that fits into ``room`` with the lower cost, ``ln(sum of exp(-k s))``."""
    if n_classes == 2:
        return room
    gap = room
    for _ in range(60):
        step = gap / (n_classes - 1)
        gap = room - math.log(sum(math.exp(-k * step) for k in range(n_classes)))
    return gap
