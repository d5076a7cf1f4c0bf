"""Rows of predictions for a wanted gap, with what they cost at a given curator.

A design asks for rows in which label k costs ``k * step`` more than label 0, and for neutral rows that cost the same
whatever the label. Near every wanted cost there are several predictions, and the one is taken whose costs come closest
as floats. A neutral row is sent by the thousand: of its neighbours the one is taken whose cost leaves no choice to the
curator's library.

Proper rows sum to one, so a neutral row costs ``ln K``. Free rows need not (scikit-learn only warns): then a neutral
row can cost next to nothing, and all costs can be whole multiples of one small power of two, whose sums floats hold
exactly.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from labelinf_core.arithmetic import Arithmetic, make_arithmetic
from labelinf_scores.certificates.error import SIGNIFICANT_BITS
from labelinf_scores.certificates.row_costs import LOG_ERROR, ROW_BITS, CostedRow, costed_row
from labelinf_scores.certificates.summation import to_float
from labelinf_scores.constructions.class_rows import class_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_core.channels.score import ScoreThreat

__all__ = ["FreeRows", "LossRows", "ProperRows", "Rows", "rows_for"]

_NEIGHBOURS = 16  # floats on either side of a wanted probability that are tried
_NEAREST = 8  # the same for neutral rows
_TRIED = 2**15  # probabilities tried for a gap that is nearly exact
_WIDENING = 2.0**-9  # the most that a weight may grow
_COMPARED = 8  # of them, looked at exactly
_DOUBLE_BITS = 52
_COARSE = 4.0  # gaps from here on are as coarse as the floats of their costs: all can be had
_WIDEST_UNBOUNDED = 2.0**24  # gaps of unbounded losses; beyond, only the exponent grows


@attrs.frozen(kw_only=True)
class Rows(abc.ABC):
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
class LossRows(Rows):
    """Rows of any loss, in any arithmetic, as the loss itself makes them."""

    @functools.cached_property
    def widest(self) -> float:
        """The span of the loss, or of the numbers that predictions are made of."""
        if not self.threat.loss.is_log_loss:
            return min(self.threat.span, _WIDEST_UNBOUNDED) * (1 - 2.0**-30)
        least = self.threat.clip or _smallest_probability(_format(self.threat))
        return _room_of_proper_rows(math.log1p(-least) - math.log(least), self.threat.n_classes)

    @functools.cached_property
    def neutral(self) -> CostedRow:
        """The row without any step."""
        return self.row(0)

    def _make(self, step: int) -> CostedRow:
        """Return the row that the loss makes, rounded to the format of predictions."""
        with self._numbers.context():
            steps = self._numbers.convert([to_float(step)])
            row = self._numbers.convert(self.threat.loss.rows(steps, self.threat.n_classes, self._numbers)[0])
        if self.threat.clip and not self.threat.clip <= min(row) <= max(row) <= 1 - self.threat.clip:
            raise ValueError(f"a step of {to_float(step):.6g} needs probabilities beyond the clip")
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
        return make_arithmetic(_format(self.threat)).at_precision(ROW_BITS)


@attrs.frozen(kw_only=True)
class _LogRows(Rows):
    """Rows of the log-loss in a format of the machine."""

    @property
    @abc.abstractmethod
    def surest(self) -> float:
        """The largest probability used; it stays within the clip."""

    def settled(self, label: int) -> CostedRow:
        """Return a row in which ``label`` is all but certain."""
        others = (1 - self._surest_float) / (self.threat.n_classes - 1)
        row = np.full(self.threat.n_classes, others, dtype=self.threat.arithmetic)
        row[label] = self._surest_float
        return costed_row(self.threat, row)

    @functools.cached_property
    def _surest_float(self) -> np.floating:
        """The float below :attr:`surest` whose cost is the most certain."""
        near = _around(self._float(self.surest), -_NEAREST, 0)
        return min(near, key=lambda p: costed_row(self.threat, np.array([p])).uncertainty)

    @property
    def _least(self) -> float:
        return max(self.threat.clip, _smallest_probability(self.threat.arithmetic))

    def _near(self, probability: float) -> list[np.floating]:
        around = _around(self._float(probability), -_NEIGHBOURS, _NEIGHBOURS)
        return [p for p in around if self._least <= p <= self.surest]

    def _closest(self, rows: list[NDArray[Any]], step: int) -> CostedRow:
        if not rows:
            raise ValueError(f"no probability within the clip costs {to_float(step):.6g} more")
        return min((costed_row(self.threat, row) for row in rows), key=lambda row: row.spread(step).width)

    def _float(self, value: float) -> np.floating:
        return np.float32(value) if self.threat.arithmetic == "float32" else np.float64(value)


@attrs.frozen(kw_only=True)
class ProperRows(_LogRows):
    """Rows of the log-loss that sum to one."""

    @functools.cached_property
    def surest(self) -> float:
        """One minus the clip, or minus the last bit."""
        return 1.0 - max(self.threat.clip, 2.0 ** -SIGNIFICANT_BITS[self.threat.arithmetic])

    @functools.cached_property
    def widest(self) -> float:
        """From the clip to one minus the clip; of more classes, less what their sum takes."""
        return _room_of_proper_rows(math.log(self.surest) - math.log(self._least), self.threat.n_classes)

    @functools.cached_property
    def neutral(self) -> CostedRow:
        """Equal probabilities."""
        near = _around(self._float(1 / self.threat.n_classes), -_NEAREST, _NEAREST)
        rows = [np.full(self.threat.n_classes, p) for p in near]
        if self.threat.normalised:  # a curator that divides by the sum must not change it
            rows = [row for row in rows if _sum(row) == 1] or rows
        return min((costed_row(self.threat, row) for row in rows), key=lambda row: row.uncertainty)

    def _make(self, step: int) -> CostedRow:
        """Return probabilities proportional to ``exp(-k * step)``."""
        if self.threat.n_classes > 2:
            return costed_row(self.threat, _normalised(LossRows(threat=self.threat).row(step).prediction))
        one = self._float(1.0)
        near = self._near(1 / (1 + math.exp(to_float(step))))
        return self._closest([np.array([one - p, p]) for p in near], step)


@attrs.frozen(kw_only=True)
class FreeRows(_LogRows):
    """Rows of the log-loss that need not sum to one."""

    @functools.cached_property
    def surest(self) -> float:
        """The probability whose cost is the power of two of which all sums are exact multiples."""
        bits = SIGNIFICANT_BITS[self.threat.arithmetic]
        exponent = math.frexp(-math.log(self._least))[1]
        return 1.0 - max(self.threat.clip, 2.0 ** (exponent + 2 - bits))

    @functools.cached_property
    def widest(self) -> float:
        """From the clip to the surest probability, whatever the number of classes."""
        return math.log(self.surest) - math.log(self._least)

    @functools.cached_property
    def neutral(self) -> CostedRow:
        """All labels all but certain."""
        return costed_row(self.threat, np.full(self.threat.n_classes, self._surest_float))

    def weight(self, least: int, unit: int, nudge: int) -> int:
        """Return the weight whose row comes nearest to whole units: gaps below 1 cannot all be had exactly."""
        if self.threat.n_classes > 2 or least * to_float(unit) > _COARSE:
            return least
        if (least, unit) not in self._weights:
            candidates = self._nearly_whole(least, to_float(unit))
            self._weights[least, unit] = min(candidates, key=lambda w: self.row(w * unit).spread(w * unit).width)
        return self._weights[least, unit]

    @functools.cached_property
    def _weights(self) -> dict[tuple[int, int], int]:
        return {}

    def _nearly_whole(self, least: int, unit: float) -> list[int]:
        """Return ``least``, and some weights from it on at which a probability costs a nearly whole number of units."""
        widest = self._float(self.surest * math.exp(-least * unit))
        place = float(widest - np.nextafter(widest, self._float(0.0)))
        weights = (math.log(self._surest_float) - np.log(float(widest) - place * np.arange(_TRIED))) / unit
        weights = weights[(weights > least - 0.5) & (weights < least * (1 + _WIDENING) + 0.5)]
        nearest = np.argsort(np.abs(weights - np.rint(weights)), kind="stable")[:_COMPARED]
        return [least, *(max(least, int(weight)) for weight in np.rint(weights[nearest]))]

    def _make(self, step: int) -> CostedRow:
        """Return probabilities ``exp(-k * step)``, each chosen by itself."""
        columns = [self._surest_float]
        for k in range(1, self.threat.n_classes):
            near = self._near(self.surest * math.exp(-to_float(k * step)))
            pair = self._closest([np.array([columns[0], p]) for p in near], k * step)
            columns.append(pair.prediction[1])
        return costed_row(self.threat, np.array(columns))


def rows_for(threat: ScoreThreat, *, proper: bool = True) -> Rows:
    """Return the maker of rows for a curator.

    Args:
        threat: What is public about it.
        proper: Whether probabilities must sum to one.
    """
    if threat.loss.is_log_loss and threat.arithmetic in LOG_ERROR and _format(threat) == threat.arithmetic:
        return ProperRows(threat=threat) if proper else FreeRows(threat=threat)
    return LossRows(threat=threat)


def _row_of_classes(threat: ScoreThreat, step: float, levels: tuple[int, ...]) -> NDArray[Any]:
    numbers = make_arithmetic(_format(threat)).at_precision(ROW_BITS)
    with numbers.context():
        row = numbers.convert(class_rows(threat.loss, step * np.array([levels], dtype=float), numbers)[0])
        return _normalised(row) if threat.loss.is_log_loss else row


def _sum(row: NDArray[Any]) -> Any:
    """Return the sum of a row as a curator computes it for a whole array of them."""
    return row[None].sum(axis=1)[0]


def _normalised(row: NDArray[Any]) -> NDArray[Any]:
    """Divide a row by its sum until that changes nothing, so that a curator may do it again."""
    for _ in range(_NEAREST):
        divided = row / _sum(row)
        if (divided == row).all():
            break
        row = divided
    return row


def _format(threat: ScoreThreat) -> str:
    return threat.input_format or threat.arithmetic


def _around(value: np.floating, first: int, last: int) -> list[np.floating]:
    """Return the positive floats ``first`` to ``last`` places above ``value``, the nearest first."""
    place = value - np.nextafter(value, value.dtype.type(0))
    near = [value + shift * place for shift in sorted(range(first, last + 1), key=abs)]
    return [candidate for candidate in near if candidate > 0]


def _smallest_probability(arithmetic: str) -> float:
    if arithmetic in LOG_ERROR:
        return float(np.finfo(arithmetic).tiny)
    bits = (int(arithmetic[4:]) - 1) // 2 if arithmetic.startswith("fpa:") else 53
    return 2.0 ** -min(bits, 53)


def _room_of_proper_rows(room: float, n_classes: int) -> float:
    """Return the largest gap ``(K - 1) s`` that fits into ``room`` with the lower cost, ``ln(sum of exp(-k s))``."""
    if n_classes == 2:
        return room
    gap = room
    for _ in range(60):
        step = gap / (n_classes - 1)
        gap = room - math.log(sum(math.exp(-k * step) for k in range(n_classes)))
    return gap
