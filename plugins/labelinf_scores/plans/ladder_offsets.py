"""Putting a score where it is wanted: what the other records of a query cost, chosen freely but known.

Against a Ladder a query must come out just below the last answer. A block of records is asked about; all others are
offset.

* :class:`FreeOffset`: rows that need not sum to one. A row ``(c, c)`` costs ``-ln c`` whatever the label.
* :class:`CountedOffset`: rows that do. All records not read yet get one and the same row, so that what they cost
  together follows from how many of each class are among them, which is public; records that have been read are set
  more or less firmly to their labels.

Both turn one dial from the cheapest query to the dearest, along which the score rises, and look for the setting that
is wanted (labelinf theory, the Ladder).
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from labelinf_scores.arithmetic import Arithmetic, make_arithmetic
from labelinf_scores.certificates.error import widest_normal
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.probe import Probe
from labelinf_scores.plans.sizing import reach

__all__ = ["CountedOffset", "FreeOffset", "Laid", "Offset"]

_DIAL = 2.0**-40
_WIDEST = 600.0  # the exponential of more leaves the doubles


@attrs.frozen(kw_only=True, eq=False)
class Laid:
    """One query.

    Attributes:
        rows: Predictions, shape ``(N, K)``.
        lowest: The score when every label of the block is its cheapest.
        gaps: How much more N times the score is for every label of the block, shape ``(m, K)``.
    """

    rows: NDArray[np.float64]
    lowest: float
    gaps: NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class _Parts:
    """The different rows of a query: of records not read, of those read by label, and of the block."""

    common: NDArray[np.float64]
    settled: NDArray[np.float64]
    block: NDArray[np.float64]


@attrs.frozen(kw_only=True)
class Offset(abc.ABC):
    """Lays queries whose scores are where they are wanted.

    Attributes:
        threat: What is public about the curator.
    """

    threat: ScoreThreat

    @functools.cached_property
    def span(self) -> float:
        """The widest difference between two labels of a row: below the smallest normal number costs come in jumps."""
        normal = widest_normal(self.threat.input_format or self.threat.arithmetic)
        return min(reach(Probe(threat=self.threat)), normal - self.surest, _WIDEST)

    @functools.cached_property
    def surest(self) -> float:
        """What a label costs at least."""
        return -math.log1p(-self.threat.clip)

    @functools.cached_property
    def counts(self) -> NDArray[np.intp]:
        """Records of every class, shape ``(K,)``."""
        return np.asarray(np.rint(np.array(self.threat.prior) * self.threat.n_records), dtype=np.intp)

    @abc.abstractmethod
    def room(self, widest: float, n_asked: int) -> float:
        """Return how far the score can fall beside blocks of ``n_asked`` records whose widest gap is ``widest``."""

    @abc.abstractmethod
    def parts(self, weights: NDArray[np.float64], left: NDArray[np.intp], dial: float) -> _Parts:
        """Return the different rows of a query.

        Args:
            weights: How much more the next label costs, for the block, shape ``(m,)``; negative: how much less.
            left: Records not read of every class.
            dial: From 0, the cheapest query, to 1.
        """

    def lay(self, weights: NDArray[np.float64], known: NDArray[np.intp], target: float) -> Laid:
        """Return the query about the first unread records whose lowest score is nearest to ``target``.

        Args:
            weights: See :meth:`parts`.
            known: Labels read, -1 elsewhere, shape ``(N,)``.
            target: A score.
        """
        read = np.bincount(known[known >= 0], minlength=self.threat.n_classes)

        def excess(dial: float) -> float:
            return self._lowest(self.parts(weights, self.counts - read, dial), read)[0] - target

        parts = self.parts(weights, self.counts - read, _rising_root(excess))
        lowest, gaps = self._lowest(parts, read)
        rows = np.where((known < 0)[:, None], parts.common, parts.settled[known])
        rows[np.flatnonzero(known < 0)[: len(weights)]] = parts.block
        return Laid(rows=rows, lowest=lowest, gaps=gaps)

    def _lowest(self, parts: _Parts, read: NDArray[np.intp]) -> tuple[float, NDArray[np.float64]]:
        """Return the lowest score of a query, and the gaps of its block."""
        common, block = self._costs(parts.common[None])[0], self._costs(parts.block)
        settled = float(read @ np.diagonal(self._costs(parts.settled)))
        base, exceed = self._unread(common, block, self.counts - read)
        least = exceed.min(axis=1, keepdims=True)
        return (settled + base + float(least.sum())) / self.threat.n_records, exceed - least

    @abc.abstractmethod
    def _unread(
        self, common: NDArray[np.float64], block: NDArray[np.float64], left: NDArray[np.intp]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return what unread records cost together, and what every label of the block adds to that."""

    def _costs(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what rows cost as the curator reads them."""
        read = rows if self._read is None else np.asarray(self._read.convert(rows), dtype=np.float64)
        clipped = np.clip(read, self.threat.clip, 1 - self.threat.clip) if self.threat.clip else read
        return np.asarray(-np.log(clipped))

    @functools.cached_property
    def _read(self) -> Arithmetic | None:
        """The format that rows are rounded to first; None where doubles are read as they are."""
        known = self.threat.reads
        return None if known.exact or known.name == "float64" or not known.known else make_arithmetic(known.name)


@attrs.frozen(kw_only=True)
class FreeOffset(Offset):
    """Rows that need not sum to one."""

    def room(self, widest: float, n_asked: int) -> float:
        """All records but a block fall from the clip to certainty."""
        return self.span * (self.threat.n_records - max(1, n_asked)) / self.threat.n_records

    def parts(self, weights: NDArray[np.float64], left: NDArray[np.intp], dial: float) -> _Parts:
        """Label k of the block costs k weights; every other row costs the dial's share of the span."""
        n_classes = self.threat.n_classes
        common = np.full(n_classes, math.exp(-self.surest - dial * self.span))
        steps = np.arange(n_classes) * np.abs(weights)[:, None]
        steps = np.where(weights[:, None] < 0, steps[:, ::-1], steps)
        return _Parts(common=common, settled=np.tile(common, (n_classes, 1)), block=np.exp(-self.surest - steps))

    def _unread(
        self, common: NDArray[np.float64], block: NDArray[np.float64], left: NDArray[np.intp]
    ) -> tuple[float, NDArray[np.float64]]:
        return float(common[0] * (left.sum() - len(block))), block


@attrs.frozen(kw_only=True)
class CountedOffset(Offset):
    """Rows that sum to one, of two classes, whose counts are public."""

    def room(self, widest: float, n_asked: int) -> float:
        """Records fall from a firm guess of the rarer class to their own labels."""
        return max(self.threat.prior) * (self.span - widest)

    def parts(self, weights: NDArray[np.float64], left: NDArray[np.intp], dial: float) -> _Parts:
        """Unread records move from the class shares to a guess of the rarer class, those read away from their labels.

        The block moves by its weights beyond the common row.
        """
        zeros, ones = left.tolist()
        room = self.span - float(np.abs(weights).max(initial=0.0))
        best = math.log((zeros + 0.5) / (ones + 0.5))
        best = max(-room, min(room, best))
        logit = best + dial * (math.copysign(room, ones - zeros + 0.5) - best)
        wrong = self.span * (2 * dial - 1)
        return _Parts(
            common=_row(np.array([logit]))[0],
            settled=_row(np.array([-wrong, wrong])),
            block=_row(logit + weights),
        )

    def _unread(
        self, common: NDArray[np.float64], block: NDArray[np.float64], left: NDArray[np.intp]
    ) -> tuple[float, NDArray[np.float64]]:
        # Labels of the block are among those counted, so it adds what its rows cost beyond the common one.
        return float(left @ common), block - common


def _rising_root(excess: Callable[[float], float]) -> float:
    """Return where a rising function crosses zero between 0 and 1, or the end that is nearest to it."""
    if excess(1.0) <= 0:
        return 1.0
    return 0.0 if excess(0.0) >= 0 else float(scipy.optimize.brentq(excess, 0.0, 1.0, xtol=_DIAL))


def _row(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows in which label 1 costs ``logits`` more than label 0."""
    return np.asarray(np.exp(-np.stack([np.logaddexp(0.0, -logits), np.logaddexp(0.0, logits)], axis=1)))
