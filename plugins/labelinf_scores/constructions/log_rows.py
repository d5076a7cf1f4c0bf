"""Rows of the log-loss for float64 and float32 curators, exact to the last bit.

Near every wanted cost there are several probabilities, and the one is taken whose costs come closest as floats. A
neutral row is sent by the thousand: of its neighbours the one is taken whose cost leaves no choice to the curator's
library.

Proper rows sum to one, so a neutral row costs ``ln K``. Free rows need not (scikit-learn only warns): then a neutral
row can cost next to nothing, and all costs can be whole multiples of one small power of two, whose sums floats hold
exactly.
"""

from __future__ import annotations

import abc
import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.certificates.row_costs import LOG_ERROR, CostedRow, costed_row
from labelinf_scores.certificates.summation import to_float
from labelinf_scores.constructions.loss_rows import (
    LossRows,
    RowMaker,
    room_of_proper_rows,
    row_sum,
    smallest_probability,
)

__all__ = ["FreeRows", "LogRows", "ProperRows"]

_NEIGHBOURS = 16  # floats on either side of a wanted probability that are tried
_NEAREST = 8  # the same for neutral rows
_WIDENED = 25  # wider gaps that are looked at until costs are certain, at either of two strides
_NEARLY = 3  # bits: a gap is off a whole number of units by an eighth at most
_TRIED = 2**15  # probabilities tried for a gap that is nearly exact
_COMPARED = 8  # of them, looked at exactly
_WIDENING = 2.0**-9  # the most that a weight may grow
_FEW = 3  # bits: what a logarithm of NumPy's longest floats may be off, in units of its last place
_COARSE = 4.0  # gaps from here on are as coarse as the floats of their costs: all can be had


@attrs.frozen(kw_only=True)
class LogRows(RowMaker):
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

    def surest_row(self, least: int, unit: int) -> CostedRow:
        """Return a row of two classes whose gap is nearly a whole number of units, at least ``least`` of them.

        The narrowest one is taken whose costs are both known to the last bit; where there is none near, the nearest.

        Args:
            least: In units.
            unit: In fixed point.

        Raises:
            ValueError: No probability within the clip has such a gap.
        """
        wider = (k * max(1, least >> shift) for shift in (10, 7) for k in range(1, _WIDENED))
        nearest: NDArray[Any] | None = None
        for step in ((least + more) * unit for more in (0, *wider) if more <= least >> 3):
            rows = self._with_gap(step)
            costs = -np.log(rows.astype(np.longdouble))
            far = np.abs(costs[:, 1] - costs[:, 0] - to_float(step)) > to_float(unit >> _NEARLY)
            rows, costs = (part[: far.argmax()] if far.any() else part for part in (rows, costs))
            for row in map(functools.partial(costed_row, self.threat), rows[self._may_be_sure(costs)]):
                if row.low == row.high:
                    return row
            nearest = rows[0] if nearest is None and len(rows) else nearest
        if nearest is None:
            raise ValueError(f"no probability within the clip costs {to_float(least * unit):.6g} more")
        return costed_row(self.threat, nearest)

    def _may_be_sure(self, costs: NDArray[np.longdouble]) -> NDArray[np.bool_]:
        """Return which rows may cost one float a label; the others, most of them, need not be looked at exactly."""
        places = np.spacing(costs.astype(self.threat.arithmetic)).astype(np.longdouble)
        off = np.abs(costs / places - np.rint(costs / places)).max(axis=1)
        room = 1 - LOG_ERROR[self.threat.arithmetic] + np.finfo(np.longdouble).eps * 2.0 ** (_FEW + 53)
        return np.asarray(off <= room)

    def row_near(self, step: int) -> CostedRow:
        """Return a row of two classes whose gap is near ``step``, in fixed point, whatever is known of its costs.

        Raises:
            ValueError: No probability within the clip has such a gap.
        """
        if (near := self._with_gap(step)).size:
            return costed_row(self.threat, near[0])
        raise ValueError(f"no probability within the clip costs {to_float(step):.6g} more")

    @abc.abstractmethod
    def _with_gap(self, step: int) -> NDArray[Any]:
        """Return rows of two classes whose gaps are near ``step``, the nearest first, shape ``(n, 2)``."""

    @functools.cached_property
    def _surest_float(self) -> np.floating:
        """The float below :attr:`surest` whose cost is the most certain."""
        near = _around(self._float(self.surest), -_NEAREST, 0)
        return min(near, key=lambda p: costed_row(self.threat, np.array([p])).uncertainty)

    @property
    def _least(self) -> float:
        return max(self.threat.clip, smallest_probability(self.threat.arithmetic))

    def _near(self, probability: float) -> NDArray[Any]:
        around = _around(self._float(probability), -_NEIGHBOURS, _NEIGHBOURS)
        return around[(around >= self._least) & (around <= self.surest)]

    def _closest(self, rows: NDArray[Any], step: int) -> CostedRow:
        if not rows.size:
            raise ValueError(f"no probability within the clip costs {to_float(step):.6g} more")
        return min((costed_row(self.threat, row) for row in rows), key=lambda row: row.spread(step).width)

    def _float(self, value: float) -> np.floating:
        return np.float32(value) if self.threat.arithmetic == "float32" else np.float64(value)


@attrs.frozen(kw_only=True)
class ProperRows(LogRows):
    """Rows of the log-loss that sum to one."""

    @functools.cached_property
    def surest(self) -> float:
        """One minus the clip, or minus the last bit."""
        return 1.0 - max(self.threat.clip, 2.0 ** -SIGNIFICANT_BITS[self.threat.arithmetic])

    @functools.cached_property
    def widest(self) -> float:
        """From the clip to one minus the clip; of more classes, less what their sum takes."""
        return room_of_proper_rows(math.log(self.surest) - math.log(self._least), self.threat.n_classes)

    @functools.cached_property
    def neutral(self) -> CostedRow:
        """Equal probabilities."""
        near = _around(self._float(1 / self.threat.n_classes), -_NEAREST, _NEAREST)
        rows = [np.full(self.threat.n_classes, p) for p in near]
        if self.threat.normalised:  # a curator that divides by the sum must not change it
            rows = [row for row in rows if row_sum(row) == 1] or rows
        return min((costed_row(self.threat, row) for row in rows), key=lambda row: row.uncertainty)

    def _make(self, step: int) -> CostedRow:
        """Return probabilities proportional to ``exp(-k * step)``."""
        if self.threat.n_classes > 2:
            return LossRows(threat=self.threat).row(step)
        return self._closest(self._with_gap(step), step)

    def _with_gap(self, step: int) -> NDArray[Any]:
        """Return a probability and what is left of one."""
        near = self._near(1 / (1 + math.exp(to_float(step))))
        return np.stack([self._float(1.0) - near, near], axis=1)


@attrs.frozen(kw_only=True)
class FreeRows(LogRows):
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
            columns.append(self._closest(self._with_gap(k * step), k * step).prediction[1])
        return costed_row(self.threat, np.array(columns))

    def _with_gap(self, step: int) -> NDArray[Any]:
        """Return the surest probability beside a smaller one."""
        near = self._near(self.surest * math.exp(-to_float(step)))
        return np.stack([np.full_like(near, self._surest_float), near], axis=1)


def _around(value: np.floating, first: int, last: int) -> NDArray[Any]:
    """Return the positive floats ``first`` to ``last`` places above ``value``, the nearest first."""
    place = value - np.nextafter(value, value.dtype.type(0))
    near = value + np.array(sorted(range(first, last + 1), key=abs), dtype=value.dtype) * place
    return np.asarray(near[near > 0])
