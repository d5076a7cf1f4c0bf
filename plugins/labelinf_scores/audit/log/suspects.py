"""Which submissions look like questions rather than predictions.

Four signs, each with its word; none is a proof of intent, and a probe that imitates a model shows none of them.

* most records share one prediction where there are more than there are classes, and the rest are few or have mostly
  values of their own, unlike a tree's leaves: a block is asked about and the rest is filler;
* a handful is set apart from all others, far fewer than the least class has;
* the answer tells more bits than the others do: the sum of its coefficients could have been almost anything, as that of
  weights that grow like powers of two;
* halves of the records are balanced against each other more exactly than chance has it: the rows of a design.

That submissions are alike, or that one goes with nobody else's, is no sign: teams resubmit, and beginners guess. A row
of no skill meets another's half in the most balanced number of records with probability ``1 / sqrt(2 pi v)`` at most, v
the variance of the hypergeometric law. So k of m rows are all balanced against each other by chance with probability
``C(m, k)`` times that to the power of their pairs at most, if rows of no skill are drawn independently: 0.001 is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Log, Row

__all__ = ["bits", "suspects"]

_TIED = 0.5  # share of the records on one value from which a submission is worth a look
_MORE = 4.0  # bits above the median
_APART = 6.0  # median deviations above it
_ALARM = 0.001  # chance that an honest log has rows of a design
_FEWEST = 4  # submissions from which one can stand out
_HANDFUL, _SHARE = 8, 0.1  # records that are set apart, and as a share of the least class

Floats = NDArray[np.float64]


def suspects(log: Log, predictions: Sequence[Floats]) -> dict[int, str]:
    """Return why a submission is worth a look, by its place in the log.

    Args:
        log: The answers.
        predictions: What was submitted, a row or a table for every answer.
    """
    found: dict[int, str] = {}
    for at in _designed(predictions):
        found[at] = "is balanced against others more exactly than chance has it"
    told = np.array([max((bits(row, log) for row in item.rows), default=0.0) for item in log.entries])
    middle = float(np.median(told)) if told.size else 0.0
    limit = middle + max(_MORE, _APART * float(np.median(np.abs(told - middle)))) if told.size >= _FEWEST else math.inf
    for at in np.flatnonzero(told > limit).tolist():
        found[at] = f"its answer tells {told[at]:.0f} bits, the others' {middle:.0f}"
    for at, own in enumerate(predictions):
        if word := _filled(own, log):
            found[at] = word
    return dict(sorted(found.items()))


def bits(row: Row, log: Log) -> float:
    """Return about how many bits an answer tells who knows the class totals alone.

    The sum over a random labelling has the variance of Hoeffding's permutation statistic; a normal variable of that
    variance is told to within the length of the interval.
    """
    table = np.concatenate([np.zeros((log.n_records, 1)), row.gains.astype(np.float64)], axis=1)
    shares = np.array(log.counts) / log.n_records
    centred = table - (table @ shares)[:, None] - table.mean(axis=0) + float(table.mean(axis=0) @ shares)
    variance = float((centred**2 @ np.array(log.counts, dtype=np.float64)).sum()) / max(1, log.n_records - 1)
    length = max(float(row.high - row.low), 1.0)
    return max(0.0, math.log2(math.sqrt(2 * math.pi * math.e * variance) / length)) if variance > 0 else 0.0


def _filled(predictions: Floats, log: Log) -> str:
    """Return in which way most records share a prediction, unless as in hard predictions; empty when they do not."""
    values, counts = np.unique(predictions, axis=0, return_counts=True)
    rest, least = int(counts.sum() - counts.max()), min(log.counts)
    few = int(counts.min())
    own = len(values) - 1 > rest / 2 or rest <= _SHARE * least
    if len(values) > log.n_classes and counts.max() > _TIED * counts.sum() and own:
        return "most records share one prediction"
    apart = len(values) == 2 and few <= min(_HANDFUL, _SHARE * least)
    return f"sets {few} record{'s' * (few > 1)} apart from all others" if apart else ""


def _designed(predictions: Sequence[Floats]) -> list[int]:
    """Return the submissions of two values whose halves are all balanced against each other beyond chance."""
    at = [place for place, row in enumerate(predictions) if row.ndim == 1 and len(np.unique(row)) == 2]
    if len(at) < _FEWEST:
        return []
    halves = np.array([predictions[place] == predictions[place].max() for place in at], dtype=np.float64)
    n, sizes = halves.shape[1], halves.sum(axis=1)
    balanced = np.abs(halves @ halves.T - np.outer(sizes, sizes) / n) < 0.5
    spread = np.outer(sizes * (n - sizes), sizes * (n - sizes)) / (n * n * (n - 1))
    chance = np.minimum(1.0, 1 / np.sqrt(2 * math.pi * spread))
    left, found = np.argsort(-balanced.sum(axis=1), kind="stable").tolist(), []
    while sets := [_set(balanced, first, left) for first in left]:
        pairs = [(math.comb(len(rows), 2), float(chance[np.ix_(rows, rows)].max())) for rows in sets]
        luck = [math.comb(len(at), len(rows)) * most**many for rows, (many, most) in zip(sets, pairs, strict=True)]
        if min(luck) > _ALARM:
            break
        found += sets[int(np.argmin(luck))]
        left = [row for row in left if row not in found]
    return sorted(at[row] for row in found)


def _set(balanced: NDArray[np.bool_], first: int, left: Sequence[int]) -> list[int]:
    """Return rows that are all balanced against each other, taken one by one."""
    rows = [first]
    for row in left:
        if row != first and balanced[row, rows].all():
            rows.append(row)
    return rows
