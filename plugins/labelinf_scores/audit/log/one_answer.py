"""What one answer determines by itself, whatever the others say: knapsack consistency, in whole numbers (M43).

Records with the same coefficient are one group, of which an answer can tell no more than how many are positive. The
sums that the other groups can make are a set of bits; a number of positives of a group is possible where one of those
sums fits beside it. All or none of a group positive, and nothing else possible: its labels are determined. Fast, and
weak where many coefficients are small; where they grow like powers of two it proves what a linear relaxation cannot.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Labels, Log, Row

__all__ = ["consistent", "proved_singly"]

_MOST = 1 << 26  # bits that are kept


def proved_singly(log: Log, labels: Labels, end: float = math.inf) -> NDArray[np.bool_]:
    """Return the records whose label one answer alone determines, of two classes; shape ``(N,)``.

    Args:
        log: The answers.
        labels: Labels that fit them.
        end: When to stop, on the monotonic clock.
    """
    found = np.zeros(log.n_records, dtype=bool)
    if log.n_classes == 2:
        for row in log.rows:
            if time.monotonic() > end:
                break
            found |= consistent(row, labels)
    return found


def consistent(row: Row, labels: Labels) -> NDArray[np.bool_]:
    """Return the records that every labelling within the ends of a row gives their own label.

    Args:
        row: Of two classes.
        labels: Labels that fit it, shape ``(N,)``.
    """
    gains = [int(value) for value in row.gains[:, 0]]
    values = sorted(set(gains))
    group = np.searchsorted(values, gains)
    sizes = np.bincount(group).tolist()
    # Negatives of records with a gain below zero are counted, so that all sums are of what is not below zero.
    shift = sum(size * min(0, value) for size, value in zip(sizes, values, strict=True))
    found, steps = np.zeros(len(gains), dtype=bool), list(map(abs, values))
    reach = sum(size * step for size, step in zip(sizes, steps, strict=True))
    if reach * len(values) > _MOST:
        return found
    low, high = max(0, math.ceil(row.low) - shift), min(reach, math.floor(row.high) - shift)
    before = [_with(1, high - low, 1)]  # a sum that is short by at most the window counts as one that fits
    for size, step in zip(sizes, steps, strict=True):
        before.append(_with(before[-1], size, step))
    after = 1
    for at in range(len(values) - 1, -1, -1):
        own = labels[group == at] if values[at] >= 0 else 1 - labels[group == at]
        if steps[at] and int(own.sum()) in (0, sizes[at]):
            others = (k for k in range(sizes[at] + 1) if k != int(own.sum()))
            found[group == at] = not any(_meet(before[at], after, high - k * steps[at]) for k in others)
        after = _with(after, sizes[at], steps[at])
    return found


def _with(sums: int, size: int, step: int) -> int:
    """Return the sums, as bits, with 0 to ``size`` times a step added."""
    some = 1
    while size > 0 and step:
        taken = min(some, size)
        sums |= sums << (taken * step)
        size, some = size - taken, some * 2
    return sums


def _meet(before: int, after: int, total: int) -> bool:
    """Whether a sum of the first and one of the second add up to a total."""
    if total < 0:
        return False
    mirrored = int(bin(after & ((1 << (total + 1)) - 1))[2:].zfill(total + 1)[::-1], 2)
    return bool(before & mirrored)
