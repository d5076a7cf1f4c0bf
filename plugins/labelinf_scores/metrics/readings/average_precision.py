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

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.metrics.readings.base import Floats, Reading

__all__ = ["CountSums", "between_sums", "count_limits"]

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
    sums = CountSums.of(sizes, ends)
    fixed = (p * p + p) / n
    needed = float(score[0]) * 2 * p * (1 - _SPARE) - _SPARE - sums.error - fixed
    allowed = float(score[1]) * 2 * p * (1 + _SPARE) + _SPARE + sums.error - fixed
    for _ in range(_ROUNDS):
        own = np.minimum(sizes, most - np.concatenate([[0], least[:-1]]))
        tied = float((np.where(sizes > 1, own * (own - 1), 0) / ends).sum())
        before = least, most
        least, most = (
            _first(sums.greatest(most), needed - tied, *before),
            _first(sums.smallest(least), math.nextafter(allowed, math.inf), *before) - 1,
        )
        if (least > most).any():
            break
        # Counts rise down the list, and by no more than the records of a group.
        most = np.minimum.accumulate(most[::-1])[::-1]
        most = ends - np.maximum.accumulate(ends - most)
        least = np.maximum.accumulate(least)
        least = ends - np.minimum.accumulate((ends - least)[::-1])[::-1]
        if np.array_equal(before[0], least) and np.array_equal(before[1], most):
            break
    return least, most


@attrs.frozen(eq=False)
class CountSums:
    """``sum_(g < G) C_g (C_g + 1) w_g`` with one count given and all others at their limits, for each of them at once.

    Limits rise down the list by no more than the sizes of groups. So beside a given count the others are, from the top,
    at their limit, then as the given one allows (equal to it above, as far below their ends as it is below), then at
    their limit again; each of the three sums is a difference of cumulated ones.

    Attributes:
        ends: ``R``.
        weights: ``w_g = 1 / R_g - 1 / R_(g+1)``, 0 for the last group.
        first: ``sum w R`` of the first groups, from none to all.
        second: ``sum w R^2``, likewise.
    """

    ends: Counts
    weights: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, sizes: Counts, ends: Counts) -> CountSums:
        """Cumulate what only the list decides."""
        rises = np.append(sizes[1:] / ends[1:], 0.0)
        weights = np.append(1 / ends[:-1] - 1 / ends[1:], 0.0)
        return cls(ends, weights, _cumulated(rises), _cumulated(rises * ends))

    @property
    def error(self) -> float:
        """How far a sum may be off: G additions of terms that sum up to ``n (1 + ln n)`` at most, and spare."""
        n = float(self.ends[-1])
        return math.ldexp(self.ends.size * n * (1 + math.log(n)), -46)

    def greatest(self, most: Counts) -> Callable[[Counts], Floats]:
        """Return the largest sums, by the given counts."""
        kept, below = _cumulated(most * (most + 1.0) * self.weights), self.ends - most
        here = np.arange(most.size)

        def sums(counts: Counts) -> Floats:
            short = self.ends - counts
            start = np.minimum(np.searchsorted(most, counts, side="right"), here + 1)
            stop = np.maximum(np.searchsorted(below, short, side="left"), here + 1)
            level, slope = self._level(counts, start, here + 1), self._slope(short, here + 1, stop)
            found: Floats = kept[start] + level + slope + (kept[-1] - kept[stop])
            return found

        return sums

    def smallest(self, least: Counts) -> Callable[[Counts], Floats]:
        """Return the smallest sums, by the given counts."""
        kept, below = _cumulated(least * (least + 1.0) * self.weights), self.ends - least
        here = np.arange(least.size)

        def sums(counts: Counts) -> Floats:
            short = self.ends - counts
            start = np.minimum(np.searchsorted(below, short, side="right"), here)
            stop = np.maximum(np.searchsorted(least, counts, side="left"), here)
            slope, level = self._slope(short, start, here), self._level(counts, here, stop)
            found: Floats = kept[start] + slope + level + (kept[-1] - kept[stop])
            return found

        return sums

    def _level(self, counts: Counts, start: Counts, stop: Counts) -> Floats:
        """Sum over groups that all have the same count."""
        return counts * (counts + 1.0) * self._weight(start, stop)

    def _slope(self, short: Counts, start: Counts, stop: Counts) -> Floats:
        """Sum over groups whose counts are all as far below their ends."""
        rises = self.second[stop] - self.second[start] + (1 - 2.0 * short) * (self.first[stop] - self.first[start])
        return rises + short * (short - 1.0) * self._weight(start, stop)

    def _weight(self, start: Counts, stop: Counts) -> Floats:
        last = self.ends.size - 1
        found: Floats = 1 / self.ends[np.minimum(start, last)] - 1 / self.ends[np.minimum(stop, last)]
        return found


def _cumulated(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _first(rising: Callable[[Counts], Floats], value: float, low: Counts, high: Counts) -> Counts:
    """Return, place by place, the first of ``low .. high`` at which a function has risen so far; or ``high + 1``."""
    high = high + 1
    while (low < high).any():
        middle = (low + high) // 2
        right = (rising(middle) >= value) | (low >= high)
        low, high = np.where(right, low, middle + 1), np.where(right, middle, high)
    return low
