"""What a curator's floating-point sum can be, over all labellings at once.

A curator adds N row costs; m of them depend on private labels. Every cost is written as ``x + e``: x is the part that
carries labels, a whole multiple of one unit, and e is the rest, known up to a small interval. A :class:`Spread` is
such a sum for all labellings together, and one floating-point addition of two spreads is a spread again. Three facts
make the interval stay small, and often vanish, where a bound of half a last place per addition would only grow:

* the order is known, so parts without private labels are known floats, not intervals;
* when the unit is a multiple of the last place of the result, x passes through the rounding untouched, and only e is
  rounded: to one and the same number for all labellings, unless e straddles a rounding boundary;
* when it is an *even* multiple, ties go the same way for all labellings, because x does not change the parity.

NumPy's order (``pairwise_sum`` in ``loops_utils.h``, since version 1.9): up to 8 terms in a row; up to 128 in eight
running sums, joined as ``((0+1)+(2+3))+((4+5)+(6+7))``, the left-over terms last; more are halved, the first half
rounded down to a multiple of 8. The curator is another machine: :func:`adds_pairwise` checks ours, the promise names
the assumption. The 16-bit formats are summed from the first term to the last.

All numbers are integers in units of ``2**-FRACTION_BITS``, so that nothing here is rounded but on purpose.

Example:
    >>> exact = to_fixed(0.1)
    >>> adder = SpreadSum(unit=to_fixed(1.0), bits=53)
    >>> term = Spread(low=exact, high=exact, top=to_fixed(4.0))
    >>> total = adder.add(term, term)
    >>> (total.high - total.low) / to_fixed(2.0**-50)
    1.0
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FRACTION_BITS",
    "ORDERS",
    "Spread",
    "SpreadSum",
    "adds_pairwise",
    "pairwise_total",
    "split_point",
    "to_fixed",
    "to_float",
]

ORDERS = ("numpy", "sequential")  #: of additions, as threat models name them
FRACTION_BITS = 320  #: every double above 2**-267 is a whole number of units

_BLOCK = 128
_LANES = 8
_BINADES = 4  # binades of the result that are looked at one by one; below, half a last place is charged


class Spread(NamedTuple):
    """All values of a partial sum: ``x + e`` with x a multiple of the unit in [bottom, top] and e in [low, high]."""

    low: int
    high: int
    top: int
    bottom: int = 0

    @property
    def width(self) -> int:
        """Width of the interval of e."""
        return self.high - self.low


@attrs.frozen(kw_only=True)
class SpreadSum:
    """Adds spreads as a curator adds floats.

    Attributes:
        unit: What x is a multiple of, in fixed point.
        bits: Significant bits of the curator's format.
        order: ``"numpy"``, or ``"sequential"``: from the first term to the last.
    """

    unit: int
    bits: int
    order: str = attrs.field(default="numpy", validator=attrs.validators.in_(ORDERS))

    def total(self, base: NDArray[np.floating], terms: Mapping[int, Spread]) -> Spread:
        """Return the sum in the curator's order.

        Args:
            base: Cost of every row whose cost is known, shape ``(N,)``, in the curator's format.
            terms: The other rows, by their place.

        Guarantees:
            The curator's float sum minus x lies in [low, high] for every labelling. Held against NumPy itself, and
            against the 16-bit formats, in ``tests/scores/blocks/test_summation.py``.
        """
        if self.order == "sequential":
            return self._row(Spread(0, 0, 0), [terms.get(i) or _known(cost) for i, cost in enumerate(base.tolist())])
        return self._pairwise(base, terms, sorted(terms), 0, len(base))

    def add(self, first: Spread, second: Spread) -> Spread:
        """Return the rounded sum of two spreads."""
        low, high = first.low + second.low, first.high + second.high
        top, bottom = first.top + second.top, first.bottom + second.bottom
        coarsest = self._last_place(top + high)
        if self.unit % coarsest and top:
            return Spread(low - coarsest // 2, high + coarsest // 2, top, bottom)
        finest = self._last_place(bottom + low)
        if top and self.unit // coarsest % 2:  # the parity of x decides ties
            lowest = -((coarsest // 2 - low) // coarsest) * coarsest
            highest = (high + coarsest // 2) // coarsest * coarsest
        else:
            lowest, highest = _round_half_even(low, coarsest), _round_half_even(high, coarsest)
        place = coarsest
        for _ in range(_BINADES):
            if place <= finest:
                return Spread(lowest, highest, top, bottom)
            place //= 2
            lowest = min(lowest, _round_half_even(low, place))
            highest = max(highest, _round_half_even(high, place))
        return Spread(min(lowest, low - place // 4), max(highest, high + place // 4), top, bottom)

    def _last_place(self, value: int) -> int:
        return 1 << max(0, value.bit_length() - self.bits)

    def _pairwise(
        self, base: NDArray[np.floating], terms: Mapping[int, Spread], places: Sequence[int], start: int, stop: int
    ) -> Spread:
        if bisect.bisect_left(places, start) == bisect.bisect_left(places, stop):
            known = to_fixed(float(np.add.reduce(base[start:stop])))
            return Spread(known, known, 0)
        if stop - start <= _BLOCK:
            known_costs = base[start:stop].tolist()
            return self._block([terms.get(start + i) or _known(cost) for i, cost in enumerate(known_costs)])
        middle = start + split_point(stop - start)
        return self.add(
            self._pairwise(base, terms, places, start, middle), self._pairwise(base, terms, places, middle, stop)
        )

    def _block(self, terms: Sequence[Spread]) -> Spread:
        add = self.add
        if len(terms) < _LANES:
            return self._row(terms[0], terms[1:])
        full = len(terms) - len(terms) % _LANES
        lanes = [self._row(terms[lane], terms[lane + _LANES : full : _LANES]) for lane in range(_LANES)]
        joined = add(
            add(add(lanes[0], lanes[1]), add(lanes[2], lanes[3])), add(add(lanes[4], lanes[5]), add(lanes[6], lanes[7]))
        )
        return self._row(joined, terms[full:])

    def _row(self, total: Spread, terms: Sequence[Spread]) -> Spread:
        for term in terms:
            total = self.add(total, term)
        return total


def split_point(length: int) -> int:
    """Return how many of ``length`` > 128 terms NumPy puts into the first half."""
    half = length // 2
    return half - half % _LANES


def pairwise_total(terms: NDArray[np.floating]) -> np.floating:
    """Return the sum of ``terms`` in NumPy's order, by scalar additions of their own type."""
    if len(terms) > _BLOCK:
        middle = split_point(len(terms))
        return pairwise_total(terms[:middle]) + pairwise_total(terms[middle:])
    full = len(terms) - len(terms) % _LANES if len(terms) >= _LANES else min(len(terms), 1)
    total: np.floating = terms[0]
    if full >= _LANES:
        lanes = terms[:_LANES].copy()
        for start in range(_LANES, full, _LANES):
            lanes += terms[start : start + _LANES]
        pairs = lanes[0::2] + lanes[1::2]
        total = (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])
    for term in terms[full:]:
        total = total + term
    return total


def adds_pairwise(dtype: str, length: int) -> bool:
    """Return whether this machine's ``numpy.mean`` of ``length`` terms adds in the order assumed here."""
    terms = np.random.default_rng(length).random(length).astype(dtype)
    return bool(np.mean(terms) == pairwise_total(terms) / terms.dtype.type(length))


def to_fixed(value: float) -> int:
    """Return a float as an integer in units of ``2**-FRACTION_BITS``.

    Raises:
        ValueError: It has bits below.
    """
    numerator, denominator = float(value).as_integer_ratio()
    shift = FRACTION_BITS - (denominator.bit_length() - 1)
    if shift < 0:
        raise ValueError(f"value={value} must be a multiple of 2**-{FRACTION_BITS}")
    return numerator << shift


def to_float(value: int) -> float:
    """Return the double nearest to an integer in units of ``2**-FRACTION_BITS``."""
    return value / (1 << FRACTION_BITS)


@functools.lru_cache(maxsize=2**12)  # most rows cost the same
def _known(value: float) -> Spread:
    fixed = to_fixed(value)
    return Spread(fixed, fixed, 0)


def _round_half_even(value: int, place: int) -> int:
    quotient, rest = divmod(value, place)
    return (quotient + (2 * rest > place or (2 * rest == place and quotient & 1))) * place
