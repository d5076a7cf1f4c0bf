"""Labels from any metric at all, by a table of what every labelling of a few records would score (M35).

A metric is a function of the pairs of prediction and label, in whatever order. So where all other records share one
prediction, which of their labels is which cannot matter, and the score is a function of the few labels and the class
totals: that is a proof of neutrality, not a test of it. All labellings of the block are compared with the answer, in
exact arithmetic, and what those that fit share is decided (M2); where they share nothing, blocks are halved.

Nothing of the metric is used but that it can say whether labels fit an answer. So every metric is read, and most of
them slowly: the number of different scores in the table is how much one answer tells.

Example::

    labelinf attack labelling-table --metric average-precision --labels 'made(n_records=60)'
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.attacks.metric_attack import MetricAnswer, MetricAttack, MetricSession, released
from labelinf_scores.metrics.readings import Rows, ScoredMetric

__all__ = ["LabellingTable", "block_row", "fitting"]

_LONGEST = 1 << 8  #: labellings of a block
_PATIENCE = 12  # answers in a row that decide nothing: what one record adds is not told by this metric

Labellings = NDArray[np.intp]


@attrs.frozen(kw_only=True)
class LabellingTable(MetricAttack):
    """Decides what all labellings of a few records share that fit an answer, whatever the metric."""

    reading_of = "tables of labellings"

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether there is a metric."""
        return metric is not None

    def play(self, board: MetricSession) -> None:
        """Ask about block after block, until every label is known or a record alone is not decided for long.

        Raises:
            ValueError: An answer fits no labels.
        """
        classes, stalled = len(board.totals.counts), 0
        longest = limit = max(1, int(math.log(_LONGEST, classes)))
        while board.unknown.size:
            asked = board.rng.permutation(board.unknown)[:limit]
            found = _ask(board, asked)
            if found is None:
                return
            if not len(found):
                raise ValueError("the answer fits no labels")
            shared = (found == found[0]).all(axis=0)
            board.settle(asked[shared], found[0, shared])
            stalled = 0 if shared.any() else stalled + 1
            if shared.any():
                limit = min(longest, limit + 1)
            elif stalled > _PATIENCE:
                return
            else:
                limit = max(1, limit // 2)


def _ask(board: MetricSession, asked: NDArray[np.intp]) -> Labellings | None:
    """Return the labellings of some records that fit the answer about them; None when it was refused."""
    classes = len(board.totals.counts)
    row = block_row(board.metric, asked, board.labels.size, classes, board.rng)
    table = np.indices((classes,) * asked.size).reshape(asked.size, -1).T
    counts = np.stack([(table == k).sum(axis=1) for k in range(classes)], axis=1)
    table = table[(counts <= board.left).all(axis=1)]
    if board.metric.sums:
        told = board.ask(row, asked)
        return None if told is None else table[_between(told, table)]
    try:
        answer = board.oracle.query(row)
    except QueryRefusedError:
        return None
    return table[fitting(board, row, asked, table, Fraction(float(answer)))]


def _between(told: MetricAnswer, table: Labellings) -> NDArray[np.bool_]:
    gaps = told.gaps.astype(object)
    if gaps.ndim == 1:
        numbers = told.numbers or range(int(table.max(initial=1)) + 1)
        gaps = gaps[:, None] * np.array(list(numbers), dtype=object)
    sums = gaps[np.arange(len(gaps)), table].sum(axis=1)
    return np.array([told.low <= total <= told.high for total in sums], dtype=bool)


def fitting(
    board: MetricSession, row: NDArray[np.float64], asked: NDArray[np.intp], table: Labellings, score: Fraction
) -> NDArray[np.bool_]:
    """Say which labellings of the records at ``asked`` fit a score; the others' labels are put in any order."""
    known, rest = board.known, np.setdiff1d(board.unknown, asked)
    found = np.zeros(len(table), dtype=bool)
    for at, labels in enumerate(table):
        full = np.zeros(board.labels.size, dtype=np.intp)
        full[known], full[asked] = board.labels[known], labels
        left = board.left - np.bincount(labels, minlength=len(board.totals.counts))
        full[rest] = np.repeat(np.arange(left.size), left)
        found[at] = board.metric.fits(full, row, score, board.totals, released(board.oracle.threat))
    return found


def block_row(
    metric: ScoredMetric, asked: NDArray[np.intp], n_records: int, classes: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return predictions that differ for the records at ``asked``, and are one and the same for all others."""
    size = asked.size
    if metric.columns:
        table = np.full((n_records, classes), 1 / classes)
        table[asked] += rng.integers(0, size + 1, (size, classes)) * 2.0**-30
        return table
    row = np.zeros(n_records)
    if metric.rows is Rows.COUNTS:
        row[asked] = 1
    elif metric.rows in (Rows.CLASSES, Rows.GRADES):
        row[asked] = rng.integers(1, classes, size)
    elif metric.rows is Rows.COSTS:
        row[:] = 0.5
        row[asked] = 0.5 + (rng.permutation(size) + 1) * 0.4 / size * rng.choice([-1, 1])
    elif metric.rows in (Rows.REALS, Rows.LEVELS):
        row[asked] = rng.integers(1, 1 << 10, size) / 64
    else:
        row[asked] = rng.permutation(size) + 1
    return row
