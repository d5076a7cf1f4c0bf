"""Which submissions look like questions rather than predictions.

Four signs, each with its word; none is a proof of intent, and a probe that imitates a model shows none of them.

* most records share one prediction where there are more than there are classes: a block is asked about and the rest
  is filler; or a handful is set apart from all others, far fewer than the least class has;
* the answer tells more bits than the others do: the sum of its coefficients could have been almost anything, as that of
  weights that grow like powers of two;
* its predictions go with nobody else's, where those of the others go together: rows of a design.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.audit.log.certificate import Entry, Log, Row

__all__ = ["bits", "suspects"]

_TIED = 0.5  # share of the records on one value from which a submission is worth a look
_MORE = 4.0  # bits above the median
_APART = 6.0  # median deviations above it
_TOGETHER = 0.2  # median correlation from which there is something to go with
_CHANCE = 4.0  # standard deviations of a correlation of nothing
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
    for at in _strangers(log):
        found[at] = "goes with nobody else's predictions"
    told = np.array([_told(item, log) for item in log.entries])
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


def _told(item: Entry, log: Log) -> float:
    return max((bits(row, log) for row in item.rows), default=0.0)


def _filled(predictions: Floats, log: Log) -> str:
    """Return in which way most records share a prediction, unless as in hard predictions; empty when they do not."""
    values, counts = np.unique(predictions, axis=0, return_counts=True)
    if len(values) > log.n_classes and counts.max() > _TIED * counts.sum():
        return "most records share one prediction"
    few = int(counts.min())
    apart = len(values) == 2 and few <= min(_HANDFUL, _SHARE * min(log.counts))
    return f"sets {few} record{'s' * (few > 1)} apart from all others" if apart else ""


def _strangers(log: Log) -> list[int]:
    """Return the submissions that do not go with the mean of the others."""
    table = np.array([item.rows[0].gains.astype(np.float64).ravel() for item in log.entries if item.rows])
    if len(table) < max(_FEWEST, len(log.entries)):
        return []
    centred = table - table.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1)
    units = centred / np.where(lengths > 0, lengths, 1.0)[:, None]
    rest = units.sum(axis=0) - units
    norms = np.linalg.norm(rest, axis=1)
    together = np.abs((units * rest).sum(axis=1) / np.where(norms > 0, norms, 1.0))
    usual = float(np.median(together))
    if usual < _TOGETHER:
        return []
    chance = _CHANCE / math.sqrt(log.n_records)  # of few records honest submissions are as far apart
    return [int(at) for at in np.flatnonzero(together < min(chance, usual / 4, usual - chance))]
