"""The least signed sum of up to forty whole gaps, in bounded memory.

Wanted is the least ``|sum e_i d_i|`` over e in {-1, 0, 1}, not all zero: the records in which two labellings differ,
and which way. The ``3**(m / 2)`` sums of one half of the gaps are met with those of the other. Of forty gaps these are
3.5 thousand million either side, too many to keep. So either half is the sum of two sorted quarters, which list all of
its sums within any window (after Schroeppel and Shamir, *SIAM Journal on Computing*, 1981). Window after window is
sorted, and neighbours from different halves are compared.

Example:
    >>> least_signed_sum(np.array([3, 5, 6, 7]))
    1
    >>> least_signed_sum(np.array([20, 31, 37, 40, 42, 43, 44]) * 1000)
    1000
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["least_signed_sum", "signed_sums"]

_WINDOW = 2**22
_SAMPLE = 2**18  # sums of either half that say where windows end; it changes the time and nothing else


def least_signed_sum(gaps: NDArray[np.int64], window: int = _WINDOW) -> int:
    """Return the least ``|sum e_i d_i|`` over e in {-1, 0, 1} that are not all zero.

    Args:
        gaps: More than zero, at least one, below ``2**62`` together.
        window: How many sums to hold at a time, about.
    """
    halves = [_Half.of(gaps[0::2]), _Half.of(gaps[1::2])]
    if any(half.has_another_zero for half in halves):
        return 0
    least = int(gaps.min())
    ends = [np.empty(0, dtype=np.int64)] * 2  # the largest sum before the window, of either half
    for low, high in _windows(halves, window):
        sides = [np.concatenate([end, half.between(low, high)]) for end, half in zip(ends, halves, strict=True)]
        least = min([least, _nearest(*sides), *(int(side.min()) for side in sides if len(side))])
        if least == 0:
            break
        ends = [side.max(keepdims=True) if len(side) else side for side in sides]
    return least


def signed_sums(gaps: NDArray[Any]) -> NDArray[Any]:
    """Return ``sum e_i d_i`` for all e in {-1, 0, 1}, each e opposite to its negative; the middle is the empty sum."""
    sums = np.zeros(1, dtype=gaps.dtype)
    for gap in gaps:
        sums = np.add.outer(np.array([-gap, 0 * gap, gap], dtype=gaps.dtype), sums).ravel()
    return sums


@attrs.frozen
class _Half:
    """The signed sums of one half of the gaps: all of ``first`` with all of ``second``, both ascending."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    largest: int

    @classmethod
    def of(cls, gaps: NDArray[np.int64]) -> _Half:
        return cls(np.sort(signed_sums(gaps[0::2])), np.sort(signed_sums(gaps[1::2])), int(gaps.sum()))

    @property
    def has_another_zero(self) -> bool:
        """Whether a sum is zero besides the empty one."""
        after = np.searchsorted(self.second, -self.first, side="right")
        return int((after - np.searchsorted(self.second, -self.first)).sum()) > 1

    def between(self, low: int, high: int) -> NDArray[np.int64]:
        """Return the sums from ``low`` up to below ``high``, in any order."""
        start = np.searchsorted(self.second, low - self.first)
        count = np.searchsorted(self.second, high - self.first) - start
        shift = np.repeat(start - (np.cumsum(count) - count), count)
        return np.asarray(np.repeat(self.first, count) + self.second[np.arange(len(shift)) + shift])

    def sample(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray(np.abs(rng.choice(self.first, _SAMPLE) + rng.choice(self.second, _SAMPLE)))


def _windows(halves: Sequence[_Half], window: int) -> Iterator[tuple[int, int]]:
    """Yield windows of about as many positive sums each; the negative ones mirror them."""
    n_sums = sum(len(half.first) * len(half.second) for half in halves) // 2
    rng = np.random.default_rng(0)
    sizes = np.concatenate([half.sample(rng) for half in halves])
    places = np.arange(1, -(-n_sums // window)) / -(-n_sums // window)
    inner = np.quantile(sizes, places, method="nearest").tolist() if len(places) else []
    edges = sorted({1, max(half.largest for half in halves) + 1, *(edge for edge in inner if edge > 0)})
    yield from itertools.pairwise(edges)


def _nearest(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """Return the least difference between a number of one and a number of the other; a large number if there is none.

    Neighbours among all numbers, each with its origin in the last bit.
    """
    marked = np.concatenate([first << 1, (second << 1) | 1])
    marked.sort()
    apart = (marked[1:] >> 1) - (marked[:-1] >> 1)
    return int(np.min(apart, where=((marked[1:] ^ marked[:-1]) & 1).astype(bool), initial=np.iinfo(np.int64).max))
