"""The certificate of a query: how its answer is read, and that it is read right for *every* labelling.

All rows of a query carry labels in whole multiples of one unit, so that N times the score is ``n * unit`` plus a rest
that is known up to an interval: the neutral rows, the lower costs, and everything that rounds, from the row costs to
the released score. If the interval is narrower than one unit, rounding to the nearest multiple gives back n, whatever
the labels. The interval comes from one of two proofs:

* :func:`certify_in_order`: the sum in a known order, all labellings at once
  (:mod:`~labelinf_scores.certificates.summation`); close to the last bit;
* :func:`certify_any_order`: half a last place for every addition; any order, any format, fast. All that is needed
  when the defence rounds or adds noise, which dwarfs the curator's own errors.

Labelinf theory, the one-unit certificate. A double carries at most 53 labels (the sums of half of all labellings lie
within a factor of two of each other, and there are only ``2**52`` doubles there).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic.formats import SIGNIFICANT_BITS
from labelinf_scores.certificates.error import assumed_disturbance, chain_length
from labelinf_scores.certificates.row_costs import ROW_BITS, CostedRow
from labelinf_scores.certificates.summation import FRACTION_BITS, Spread, SpreadSum, to_fixed, to_float
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["UnitReading", "answer_width", "certify_any_order", "certify_in_order", "last_place", "rounding_width"]

_ONE = 1 << FRACTION_BITS
_EXACT_GUARD = 16  # bits of an exact curator's answer that its own roundings may touch


@attrs.frozen(kw_only=True)
class UnitReading:
    """How an answer is read: as the number of whole units in N times the score, above an offset.

    Attributes:
        n_records: N.
        unit: In fixed point.
        margin: How far apart the sums of different labellings are at least, in fixed point: one unit, or many where
            the unit is only the grain in which gaps are written down.
        offset: Middle of the interval of the rest, in fixed point.
        slack: Half of the width of the interval: how far N times the released score may be from what it stands for.
    """

    n_records: int
    unit: int
    margin: int
    offset: int
    slack: int

    @classmethod
    def of(cls, low: int, high: int, *, n_records: int, unit: int, margin: int) -> UnitReading:
        """Return the reading of a sum whose rest, errors of the release included, lies in [low, high]."""
        offset, slack = (low + high) // 2, (high - low + 1) // 2
        return cls(n_records=n_records, unit=unit, margin=margin, offset=offset, slack=slack)

    @property
    def is_certain(self) -> bool:
        """Whether every labelling is read right."""
        return 2 * self.slack < self.margin

    @property
    def survives(self) -> float:
        """Error of the score, in its own unit, below which every labelling is read right."""
        return to_float(self.margin) / 2 / self.n_records

    @property
    def present(self) -> float:
        """Largest error of the score that the offset does not already account for."""
        return to_float(self.slack) / self.n_records

    def read(self, score: Any) -> int:
        """Return a whole number that exceeds the sum of the weights by less than the margin.

        Args:
            score: The answer, a float or a gmpy2 number.
        """
        exact = gmpy2.mpq(score) * self.n_records
        total = int(exact.numerator) * _ONE // int(exact.denominator)
        return (2 * (total - self.offset) + self.margin) // (2 * self.unit)


def certify_in_order(
    threat: ScoreThreat,
    base: NDArray[np.floating],
    rows: Mapping[int, tuple[CostedRow, int]],
    unit: int,
    split: int = 0,
) -> UnitReading:
    """Certify one query to a curator that computes in floats and adds in an order that is known.

    Args:
        threat: What is public about the curator.
        base: Cost of every neutral row, shape ``(N,)``; for NumPy's order in the curator's format.
        rows: The rows that carry labels, by record, each with its step in fixed point.
        unit: What all steps are multiples of, in fixed point.
        split: How many of the widest rows to tell apart: the labellings are proved in groups, by the widest row whose
            label is not 0. It tightens the proof where the rows, not the neutral ones, make up the sum.
    """
    adder = SpreadSum(unit=unit, bits=SIGNIFICANT_BITS[threat.arithmetic], order=threat.summation)
    low, high = [], []
    for terms in _groups(rows, split):
        rest = adder.total(base, terms)
        error = _release_error(threat, rest)
        low.append(rest.low - error)
        high.append(rest.high + error)
    return UnitReading.of(min(low), max(high), n_records=threat.n_records, unit=unit, margin=unit)


def _groups(rows: Mapping[int, tuple[CostedRow, int]], split: int) -> Iterator[dict[int, Spread]]:
    """Yield the terms of every group of labellings."""
    terms = {record: row.spread(step) for record, (row, step) in rows.items()}
    for record in sorted(rows, key=lambda record: -rows[record][1])[:split]:
        row, step = rows[record]
        for label in range(1, len(row.low)):
            yield {**terms, record: row.spread(step, [label])}
        terms[record] = row.spread(step, [0])
    yield terms


def certify_any_order(
    threat: ScoreThreat, neutral: Spread, terms: Iterable[Spread], unit: int, margin: int = 0
) -> UnitReading:
    """Certify one query whatever the order of additions (NumPy's where it is known, which is shorter).

    Args:
        threat: What is public about the curator.
        neutral: Cost of all neutral rows together, exactly.
        terms: The rows that carry labels.
        unit: What they carry labels in multiples of, in fixed point.
        margin: How far apart different sums are at least, in fixed point; one unit by default.
    """
    low, high, top, _ = neutral
    for term in terms:
        low, high, top = low + term.low, high + term.high, top + term.top
    bits = SIGNIFICANT_BITS.get(threat.arithmetic)
    if bits is not None:
        chain = chain_length(threat.n_records, threat.summation)
        error = (high + top) * chain // ((1 << bits) - chain) + 1 if 2 * chain < 1 << bits else high + top
        low, high = low - error, high + error
    released = _release_error(threat, Spread(low, high, top))
    low, high = low - released, high + released
    return UnitReading.of(low, high, n_records=threat.n_records, unit=unit, margin=margin or unit)


def last_place(threat: ScoreThreat, score: float) -> float:
    """Return the distance between neighbouring answers near ``score`` > 0, before the defences."""
    if threat.computes.fraction:
        return threat.computes.grid * (1 + 2.0**-20)
    bits = SIGNIFICANT_BITS.get(threat.arithmetic, ROW_BITS - _EXACT_GUARD)
    return 2.0 ** (math.frexp(score)[1] - bits)


def answer_width(threat: ScoreThreat, largest_sum: float) -> float:
    """Return the width of what one answer can stand for, in N times the score: no unit below it can be read.

    Args:
        threat: What is public.
        largest_sum: Largest sum of row costs.
    """
    largest = largest_sum / threat.n_records
    return threat.n_records * (last_place(threat, largest) + 2 * assumed_disturbance(threat, largest))


def rounding_width(threat: ScoreThreat, total: float) -> float:
    """Return the width of what the roundings of a sum of ``total`` can add up to, in any order."""
    bits = SIGNIFICANT_BITS.get(threat.arithmetic)
    return 2.5 * chain_length(threat.n_records, threat.summation) * total * 2.0**-bits if bits else 0.0


def _release_error(threat: ScoreThreat, rest: Spread) -> int:
    """How far N times the released score can be from the sum: the division rounds, then the defences act."""
    largest = to_float(rest.high + rest.top) / threat.n_records * (1 + 2.0**-50)
    error = last_place(threat, largest) / 2 + assumed_disturbance(threat, largest)
    return threat.n_records * to_fixed(error) + 1
