"""How far apart the sums of different labellings are at least: the separation of a design.

Robust inference of all labels is possible if and only if no two labellings come closer than twice the noise (Aggarwal
et al., AISTATS 2022, Proposition 1). For gaps ``d_1 <= ... <= d_m`` the separation is the least ``|sum e_i d_i|`` over
all e in {-1, 0, 1} that are not all zero. Deciding whether it is positive is hard in general, so there are three
answers, each exact:

* where a gap exceeds all before it together, it separates by the excess: closed form, and such gaps are peeled off;
* what remains is searched by meeting in the middle (:mod:`~labelinf_papers.certificates.signed_sums`);
* whole gaps of small total are spread out as one table of sums;

and otherwise *not certified*, with the reason. Gaps are integers or rationals; a float is the rational that it is.

Example:
    >>> separation([1, 2, 4, 8])
    Separation(value=Fraction(1, 1), reason='')
    >>> separation([3, 5, 6, 7]).value
    Fraction(1, 1)
    >>> separation([1, 2, 3]).value
    Fraction(0, 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_papers.certificates.signed_sums import least_signed_sum, signed_sums

__all__ = ["LARGEST_CORE", "LARGEST_WIDE_CORE", "Separation", "separation"]

LARGEST_CORE = 40  #: gaps searched by meeting in the middle: minutes; 36 take seconds
LARGEST_WIDE_CORE = 20  #: the same for gaps of more than 62 bits together

_LARGEST_TOTAL = 2**27  # of whole gaps spread out in a table
_INT64 = 2**62


@attrs.frozen
class Separation:
    """The separation, or why it is not known.

    Attributes:
        value: Exact; None when it is not known.
        reason: Why not; empty when it is.
    """

    value: Fraction | None
    reason: str = ""


def separation(gaps: Iterable[int | float | Fraction]) -> Separation:
    """Return the least distance between the sums of two different labellings.

    Args:
        gaps: How much more label 1 costs than label 0 in every row, of either sign; at least one.
    """
    exact = [abs(Fraction(gap)) for gap in gaps]
    scale = math.lcm(*(gap.denominator for gap in exact))
    whole = sorted(int(gap * scale) for gap in exact)
    excess = [gap - below for gap, below in zip(whole, accumulate(whole, initial=0), strict=False)]
    core = max((i + 1 for i, more in enumerate(excess) if more <= 0), default=0)
    least = min(excess[core:], default=None)
    if core == 0:
        return Separation(Fraction(min(excess), scale))
    found = _least_difference(whole[:core])
    if found is None:
        return Separation(None, f"{core} gaps overlap; the least difference of their sums is too hard to find")
    return Separation(Fraction(found if least is None else min(found, least), scale))


def _least_difference(gaps: Sequence[int]) -> int | None:
    if gaps[0] == 0:
        return 0
    if sum(gaps) <= _LARGEST_TOTAL:
        return _by_table(gaps)
    if sum(gaps) < _INT64:
        return least_signed_sum(np.array(gaps, dtype=np.int64)) if len(gaps) <= LARGEST_CORE else None
    return _by_halves(np.array(gaps, dtype=object)) if len(gaps) <= LARGEST_WIDE_CORE else None


def _by_table(gaps: Sequence[int]) -> int:
    """Mark every sum; a sum marked twice belongs to two labellings."""
    marked = np.zeros(sum(gaps) + 1, dtype=bool)
    marked[0] = True
    reached = 0
    for gap in gaps:
        moved = marked[: reached + 1].copy()
        target = marked[gap : gap + reached + 1]
        if (target & moved).any():
            return 0
        target |= moved
        reached += gap
    return int(np.diff(np.flatnonzero(marked)).min())


def _by_halves(gaps: NDArray[np.object_]) -> int:
    """Look every signed sum of one half up among those of the other: numbers of any size."""
    middle = len(gaps) // 2
    first, second = (np.delete(sums, len(sums) // 2) for sums in map(signed_sums, (gaps[:middle], gaps[middle:])))
    second = np.sort(second)
    alone = min(int(np.abs(sums).min()) for sums in (first, second) if len(sums))
    if not len(first):
        return alone
    first = first[: len(first) // 2]  # the others are their negatives
    right = np.searchsorted(second, first).clip(1, len(second) - 1)
    near = np.minimum(np.abs(second[right] - first), np.abs(second[right - 1] - first))
    return min(alone, int(near.min()))
