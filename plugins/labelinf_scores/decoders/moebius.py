"""Labels from the weighings of a detecting matrix on bit sets: the Moebius transform, from the largest set down (M5).

About ``q**2`` additions. Every digit is checked: labels are 0..K-1, and at the end nothing may be left of the answers.
A count that is off can still give labels in range, so that the counts themselves must be certain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.bit_sets import BitSets, entries, weights, words
from labelinf_scores.constructions.mixed_sets import SetColumns

__all__ = ["decode_bit_sets", "decode_columns"]


def decode_bit_sets(design: BitSets, answers: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Return the labels, shape ``(n_labels,)``, of the first columns; all others are zero.

    Args:
        design: The matrix.
        answers: Of rows 1 to q, shape ``(q,)``.
        n_labels: Columns that were used.

    Raises:
        ValueError: No labels have these answers.
    """
    q, base, largest = design.n_queries, design.n_values, design.largest
    left = np.concatenate([[0], np.asarray(answers, dtype=np.int64)])
    rows = np.arange(q + 1)
    starts = np.cumsum([0, *(len(weights(x.bit_count(), base, largest)) for x in range(1, q + 1))])
    found = np.zeros(int(starts[-1]), dtype=np.int64)
    for chosen in range(q, 0, -1):
        total = _at(left, chosen)
        scale = weights(chosen.bit_count(), base, largest)
        digits = []
        for _ in scale:
            total, digit = divmod(total, base)
            digits.append(digit)
        if total:
            raise ValueError("no labels have these answers")
        if any(digits):
            common = words(rows, chosen)
            for weight, digit in zip(scale, digits, strict=True):
                left -= digit * entries(common, weight, largest)
        found[starts[chosen - 1] : starts[chosen]] = digits
    if left.any() or found[n_labels:].any():
        raise ValueError("no labels have these answers")
    return found[:n_labels]


def decode_columns(columns: SetColumns, answers: NDArray[np.int64], ranges: Sequence[int]) -> list[int]:
    """Return what every column counts, from 0 and below its range.

    Args:
        columns: The matrix.
        answers: Of rows 0, 1, ..., the first of which is zero where it need not be asked.
        ranges: How many values every count can take.

    Raises:
        ValueError: No counts have these answers.
    """
    left, rows, found = answers.copy(), np.arange(len(answers)), [0] * len(ranges)
    ends = np.searchsorted(columns.chosen, np.arange(columns.n_sets + 1))
    for chosen in range(columns.n_sets - 1, columns.first - 1, -1):
        total, common = _at(left, chosen), words(rows, chosen)
        for at in range(ends[chosen + 1] - 1, ends[chosen] - 1, -1):
            found[at], total = divmod(total, int(columns.weight[at]))
            if found[at]:
                left -= found[at] * columns.column(at, common)
    if left.any() or any(not 0 <= value < limit for value, limit in zip(found, ranges, strict=True)):
        raise ValueError("no counts have these answers")
    return found


def _at(values: NDArray[np.int64], chosen: int) -> int:
    """Return the Moebius transform at a set, its sign such that weights come out positive."""
    subsets = _subsets(chosen)
    signs = np.where(np.bitwise_count(subsets) & 1, 1, -1)
    return int((signs * values[subsets]).sum())


def _subsets(chosen: int) -> NDArray[np.int64]:
    found = np.zeros(1, dtype=np.int64)
    while chosen:
        lowest = chosen & -chosen
        found = np.concatenate([found, found | lowest])
        chosen ^= lowest
    return found
