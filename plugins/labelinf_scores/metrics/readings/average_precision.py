"""An average precision between two sums over the records: convex in the counts of positives down the list.

Let tie groups end at ranks ``R_1 < ... < R_G = N``, let ``C_g`` positives be in the first g of them and ``p_g`` in the
g-th. Since ``2 p_g C_g = C_g^2 - C_(g-1)^2 + p_g^2``,

    2 P AP = sum_(g < G) (C_g^2 + C_g) (1 / R_g - 1 / R_(g+1)) + (P^2 + P) / N + sum_g p_g (p_g - 1) / R_g

with no negative factor: a convex function of counts, and counts are sums of labels. Every tangent is therefore a sum
over the records that is at most this, for all labels; and between the least and the greatest value that a count can
have at the given score, the chord is a sum that is at least this. Both hold for every labelling that has the score, so
that what follows from them is proved; they say less than the score does, and most between wide limits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import Floats, Reading

__all__ = ["between_sums", "count_limits"]

_SCALE = 96  # binary digits of a coefficient
_SPARE = 1e-9  # relative error of sums of fewer than a million positive doubles, and more
_ROUNDS = 3  # in which limits narrow each other

Counts = NDArray[np.int64]


@attrs.frozen(kw_only=True, eq=False)
class _Groups:
    """Tie groups of a list, the highest first.

    Attributes:
        place: Group of every record, shape ``(N,)``.
        sizes: Records of every group, shape ``(G,)``.
    """

    place: NDArray[np.intp]
    sizes: Counts

    @classmethod
    def of(cls, predictions: Floats) -> _Groups:
        _, place, sizes = np.unique(-predictions, return_inverse=True, return_counts=True)
        return cls(place=place, sizes=sizes.astype(np.int64))

    @property
    def ends(self) -> Counts:
        return np.cumsum(self.sizes)

    def counts(self, labels: NDArray[np.intp]) -> tuple[Counts, Counts]:
        """Return ``C`` and ``p``."""
        own = np.bincount(self.place, weights=labels, minlength=self.sizes.size).astype(np.int64)
        return np.cumsum(own), own


def between_sums(
    predictions: Floats, score: tuple[Fraction, Fraction], n_positive: int, near: NDArray[np.intp] | None
) -> tuple[Reading, ...]:
    """Return a sum that the score bounds from above, and one that it bounds from below.

    Args:
        predictions: The list.
        score: Ends between which the exact average precision lies.
        n_positive: P.
        near: Labels about which the first sum is to be close; the middle of the limits where there are none.

    Raises:
        ValueError: No labels have such a score.
    """
    groups = _Groups.of(predictions)
    least, most = count_limits(groups.sizes, score, n_positive)
    if (least > most).any():
        raise ValueError("no labels give this score")
    own_least = np.maximum(0, least - np.concatenate([[0], most[:-1]]))
    own_most = np.minimum(groups.sizes, most - np.concatenate([[0], least[:-1]]))
    if near is None:
        counts, own = (least + most) // 2, (own_least + own_most) // 2
    else:
        counts, own = groups.counts(near)
    ends = score[0] * 2 * n_positive, score[1] * 2 * n_positive
    # c (c + 1) >= (2 k + 1) c - k^2 for all c, and <= (l + u + 1) c - l u for l <= c <= u; likewise p (p - 1).
    below = _sum(groups, 2 * counts + 1, -(counts**2), 2 * own - 1, -(own**2), n_positive)
    above = _sum(groups, least + most + 1, -least * most, own_least + own_most - 1, -own_least * own_most, n_positive)
    widest = [Fraction(sum(map(abs, each[0].tolist()))) for each in (below, above)]  # no sum is larger
    return (
        Reading(coefficients=below[0], low=-widest[0], high=ends[1] * 2**_SCALE - below[1] + below[2]),
        Reading(coefficients=above[0], low=ends[0] * 2**_SCALE - above[1] - above[2], high=widest[1]),
    )


def _sum(
    groups: _Groups, slopes: Counts, bases: Counts, own_slopes: Counts, own_bases: Counts, n_positive: int
) -> tuple[NDArray[Any], int, int]:
    """Return coefficients of the records, what is added to their sum, and how far rounding may be off, in units.

    The function is ``sum_(g < G) w_g (slope C_g + base) + (P^2 + P) / N + sum_g (own_slope p_g + own_base) / R_g``.
    """
    ends, one = groups.ends.tolist(), 1 << _SCALE
    last, n = len(ends) - 1, ends[-1]
    base = (n_positive**2 + n_positive) * one // n
    each: list[int] = []
    below = 0  # what the counts of later groups add for a record
    for g in range(last, -1, -1):
        if g < last:
            weight = one // ends[g] - one // ends[g + 1]
            below += weight * int(slopes[g])
            base += weight * int(bases[g])
        single = groups.sizes[g] == 1
        each.append(below + (0 if single else one // ends[g] * int(own_slopes[g])))
        base += 0 if single else one // ends[g] * int(own_bases[g])
    # Every quotient is off by less than one unit, and is multiplied by less than 3 N^2, 2 G times.
    off = 6 * n**3 * (n_positive + 1)
    return np.array(each[::-1], dtype=object)[groups.place], base, off


def count_limits(sizes: Counts, score: tuple[Fraction, Fraction], n_positive: int) -> tuple[Counts, Counts]:
    """Return the least and the greatest number of positives down to every group, of labels that have the score.

    A count below its limit leaves no room for the score even if all other counts are as large as they can be beside it.
    """
    ends = np.cumsum(sizes)
    n, p = int(ends[-1]), n_positive
    least, most = np.maximum(0, ends - (n - p)), np.minimum(ends, p)
    weights = np.append(1 / ends[:-1] - 1 / ends[1:], 0.0)
    fixed = (p * p + p) / n
    needed, allowed = float(score[0]) * 2 * p * (1 - _SPARE) - _SPARE, float(score[1]) * 2 * p * (1 + _SPARE) + _SPARE
    for _ in range(_ROUNDS):
        own = np.minimum(sizes, most - np.concatenate([[0], least[:-1]]))
        tied = float((np.where(sizes > 1, own * (own - 1), 0) / ends).sum())

        def greatest(g: int, c: int, most: Counts = most, tied: float = tied) -> float:
            beside = np.minimum(most, np.where(ends <= ends[g], c, c + ends - ends[g]))
            return float((beside * (beside + 1.0) * weights).sum()) + fixed + tied

        def smallest(g: int, c: int, least: Counts = least) -> float:
            beside = np.maximum(least, np.where(ends < ends[g], c - (ends[g] - ends), c))
            return float((beside * (beside + 1.0) * weights).sum()) + fixed

        narrower = [
            _first(lambda c, g=g: greatest(g, c) >= needed, int(least[g]), int(most[g])) for g in range(len(ends))
        ]
        wider = [
            _first(lambda c, g=g: smallest(g, c) > allowed, int(least[g]), int(most[g])) - 1 for g in range(len(ends))
        ]
        before = least, most
        least, most = np.array(narrower, dtype=np.int64), np.array(wider, dtype=np.int64)
        if (least > most).any() or (np.array_equal(before[0], least) and np.array_equal(before[1], most)):
            break
    return least, most


def _first(holds: Any, low: int, high: int) -> int:
    """Return the first of ``low .. high`` for which a monotone condition holds; ``high + 1`` when it never does."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
