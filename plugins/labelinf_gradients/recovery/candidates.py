"""Every scale that can solve a gradient, from enough equations that at least one of them avoids the label's entries.

One entry outside S of size m suffices when the other entries are zero, so m + 1 entries are tried, those of largest
``|a|``. When they are only equal, one pair outside S suffices, provided that its slopes differ: rows of the weights may
be equal, and their pairs then say 0 = 0. The m + 1 largest slopes are paired with the m + 1 smallest, all with all:
whatever S is, the pair outside it whose slopes differ most is among them. Where C is too small for that, all pairs are
tried (labelinf theory, the exact solver).
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from labelinf_gradients.recovery.equations import Equations, roots
from labelinf_gradients.recovery.patterns import Pattern
from labelinf_gradients.recovery.problem import Problem

__all__ = ["candidate_scales"]


def candidate_scales(problem: Problem, pattern: Pattern, *, positive: bool) -> NDArray[np.float64]:
    """Return all candidates of every gradient, shape ``(n, m)``, NaN where an equation has no solution.

    Args:
        problem: Gradients that are not zero.
        pattern: The family of their labels.
        positive: Only scales ``t > 0`` are possible (features known to be non-negative).
    """
    make = _from_entries if pattern.zero else _from_pairs
    rows, signs, first, second, level = make(problem, pattern)
    keep = level > 0
    if positive:
        keep &= signs > 0
    if second is not None and problem.offsets is None:  # without biases p_i - p_j has the sign of w'_i - w'_j
        gap = problem.slopes[rows, first] - problem.slopes[rows, second]
        keep &= signs * gap > 0
    count = len(rows) // len(problem.column)
    slot = np.tile(np.arange(count), len(problem.column))
    found = np.full((len(problem.column), 2 * count), np.nan)
    chosen = np.flatnonzero(keep)
    rows, signs, slot = rows[chosen], signs[chosen], slot[chosen]
    biases = problem.offsets
    equations = Equations(
        slopes=signs[:, None] * problem.slopes[rows],
        offsets=None if biases is None else np.broadcast_to(biases, (len(rows), len(biases))),
        first=first[chosen],
        second=None if second is None else second[chosen],
        level=level[chosen],
    )
    low, high = roots(equations)
    found[rows, 2 * slot] = signs * low
    found[rows, 2 * slot + 1] = signs * high
    return found


_Jobs = tuple[
    "NDArray[np.intp]", "NDArray[np.float64]", "NDArray[np.intp]", "NDArray[np.intp] | None", "NDArray[np.float64]"
]


def _from_entries(problem: Problem, pattern: Pattern) -> _Jobs:
    """One equation ``t p_i = a_i`` for each of the m + 1 largest ``|a_i|``; the sign of ``t`` is that of ``a_i``."""
    size = np.abs(problem.column)
    n, c = size.shape
    count = min(pattern.excluded + 1, c)
    entries = np.argpartition(size, c - count, axis=1)[:, c - count :] if count < c else np.tile(np.arange(c), (n, 1))
    rows = np.repeat(np.arange(n), count)
    first = entries.ravel()
    value = problem.column[rows, first]
    return rows, np.sign(value), first, None, np.abs(value)


def _from_pairs(problem: Problem, pattern: Pattern) -> _Jobs:
    """Equations ``t (p_i - p_j) = a_i - a_j``, some for each sign of ``t``."""
    n = len(problem.column)
    pairs = _pairs(problem.slopes, pattern)
    if problem.offsets is not None:  # biases can saturate the softmax on a class whatever its slope
        pairs = np.concatenate([pairs, _pairs(problem.column, pattern)], axis=1)
    pairs = np.concatenate([pairs, pairs], axis=1)
    count = pairs.shape[1]
    rows = np.repeat(np.arange(n), count)
    ends = pairs.reshape(-1, 2)
    signs = np.tile(np.repeat([1.0, -1.0], count // 2), n)
    gap = problem.column[rows, ends[:, 0]] - problem.column[rows, ends[:, 1]]
    swap = signs * gap < 0
    first = np.where(swap, ends[:, 1], ends[:, 0])
    second = np.where(swap, ends[:, 0], ends[:, 1])
    return rows, signs, first, second, np.abs(gap)


def _pairs(values: NDArray[np.float64], pattern: Pattern) -> NDArray[np.intp]:
    """Return pairs of the |S| + 1 largest with the |S| + 1 smallest of ``values``, shape ``(n, count, 2)``.

    Whatever S is, the largest and the smallest value outside it are one of them. With few classes, all pairs there are.
    """
    n, c = values.shape
    count = pattern.excluded + 1
    if c < 2 * count:
        every = np.array(list(itertools.combinations(range(c), 2)), dtype=np.intp)
        return np.broadcast_to(every, (n, *every.shape))
    ends = np.r_[np.arange(count), np.arange(c - count, c)]
    order = np.argpartition(values, ends, axis=1) if c > 4 * count else values.argsort(axis=1)
    top, bottom = order[:, c - count :], order[:, :count]
    return np.stack([np.repeat(top, count, axis=1), np.tile(bottom, (1, count))], axis=2)
