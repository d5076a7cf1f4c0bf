"""Few positives among many records: groups whose counts are known, all halved at once (M10).

Of a group with c positives the left half has between 0 and c. The counts of all left halves are read by one detecting
matrix of mixed radices: in a set of bits every column weighs the product of the ranges of those before it. Groups that
are all of one class are done, so that a level has P groups at most, and ``2 P / log2 P`` queries or so.

Example::

    labelinf attack count-tree --metric f1 --labels made.csv
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.detecting_counts import least_step, planned
from labelinf_scores.attacks.metric_attack import CONDITIONS, Board, MetricAttack, released
from labelinf_scores.constructions.bit_sets import entries, words
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric

__all__ = ["CountTree"]

Column = tuple[int, int, int]  #: a set of bits, a weight, and the place of the range that stands there


@attrs.frozen(kw_only=True)
class CountTree(MetricAttack):
    """Recovers all labels where one class is rare, by halving groups with known counts."""

    rows = Rows.COUNTS
    reading_of = "counts of positives, as metrics of the confusion matrix tell them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """Counts of sets of any size must be exact, and a matrix over all records must take longer."""
        metric = threat.metric
        if not isinstance(metric, ConfusionMetric):
            return "it is no metric of the confusion matrix"
        plan = planned(metric, threat.totals, released(threat).noise)
        if plan is None or plan.largest < threat.n_records - 1:
            return "counts of large sets do not stand out from the error of the score"
        return "" if _expected(threat.totals) < plan.queries else "no class is rare: a detecting matrix asks less"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when the smallest step of the link exceeds twice the error, and nothing ends the game."""
        metric, totals = threat.metric, threat.totals
        if not isinstance(metric, ConfusionMetric):
            return None
        return Promise(
            survives=float(least_step(metric, totals, threat.n_records - 1) / 2),
            present=float(released(threat).noise + metric.error_bound(totals)),
            statement="M5, M6, M10: labelinf theory, halving groups with known counts",
            conditions=CONDITIONS,
            proved=metric.steps_at_ends and threat.facts.intact and threat.allows(2 * threat.n_records),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels over the queries that labels in some random order take."""
        return threat.n_records / _expected(threat.totals)

    def play(self, board: Board) -> None:
        """Halve all groups, level after level.

        Raises:
            ValueError: The answers fit no labels.
        """
        order = board.rng.permutation(board.labels.size)
        groups = [(order, board.totals.n_positive)]
        while groups := _settled(board, groups):
            halves = [np.array_split(records, 2) for records, _ in groups]
            ranges = [
                _range(count, left.size, right.size) for (_, count), (left, right) in zip(groups, halves, strict=True)
            ]
            columns = layout([most - least + 1 for least, most in ranges])
            answers = [0]
            for x in range(1, columns[-1][0] + 1):
                inside = [halves[place][0] for chosen, weight, place in columns if _entry(x, chosen, weight)]
                counted = _count(board, np.concatenate([order[:0], *inside]))
                if counted is None:
                    return
                least = sum(ranges[place][0] for chosen, weight, place in columns if _entry(x, chosen, weight))
                answers.append(counted - least)
            found = decode(columns, np.array(answers), [most - least for least, most in ranges])
            counts = [least + more for (least, _), more in zip(ranges, found, strict=True)]
            groups = [
                part
                for (_, count), (left, right), own in zip(groups, halves, counts, strict=True)
                for part in ((left, own), (right, count - own))
            ]


def _settled(board: Board, groups: Sequence[tuple[NDArray[np.intp], int]]) -> list[tuple[NDArray[np.intp], int]]:
    """Write groups of one class down, and return the others."""
    for records, count in groups:
        if count in (0, records.size):
            board.labels[records] = int(count > 0)
    return [(records, count) for records, count in groups if 0 < count < records.size]


def _range(count: int, left: int, right: int) -> tuple[int, int]:
    """Return the least and the most positives that the left half can have."""
    return max(0, count - right), min(count, left)


def layout(radices: Sequence[int]) -> list[Column]:
    """Return where every range stands, sets from the lowest: small ones below a large one that nothing weighs above.

    Args:
        radices: How many values every count can take, each 2 at least.
    """
    places = deque(sorted(range(len(radices)), key=radices.__getitem__))
    found: list[Column] = []
    chosen = 0
    while places:
        chosen += 1
        weight, most = 1, 1 << (chosen.bit_count() - 1)
        while len(places) > 1 and weight * radices[places[0]] <= most:
            found.append((chosen, weight, places[0]))
            weight *= radices[places.popleft()]
        found.append((chosen, weight, places.pop()))
    return found


def decode(columns: Sequence[Column], answers: NDArray[np.int64], most: Sequence[int]) -> list[int]:
    """Return the counts, each from 0 to its ``most``, that have these answers to rows 0, 1, ..., q.

    Raises:
        ValueError: None have.
    """
    left, rows = answers.copy(), np.arange(len(answers))
    found = [0] * len(most)
    for chosen in range(len(answers) - 1, 0, -1):
        own = [(weight, place) for where, weight, place in columns if where == chosen]
        total = int((np.where(np.bitwise_count(rows) & 1, 1, -1) * left)[(rows & chosen) == rows].sum())
        for weight, place in reversed(own):
            found[place], total = divmod(total, weight)
            left = left - found[place] * entries(words(rows, chosen), weight, 1)
    if left.any() or any(not 0 <= value <= limit for value, limit in zip(found, most, strict=True)):
        raise ValueError("no counts have these answers")
    return found


def _entry(x: int, chosen: int, weight: int) -> bool:
    return bool(entries(words(np.array([x]), chosen), np.array([weight]), 1)[0])


def _count(board: Board, chosen: NDArray[np.intp]) -> int | None:
    predictions = np.zeros(board.labels.size)
    predictions[chosen] = 1
    told = board.ask(predictions, board.unknown)
    return None if told is None else told.value


@functools.lru_cache(maxsize=8)
def _expected(totals: Totals) -> int:
    """Return the queries for labels in some random order."""
    labels = np.random.default_rng(0).permutation(np.arange(totals.n_records) < totals.n_positive)
    groups, queries = [labels], 0
    while groups:
        halves = [np.array_split(group, 2) for group in groups]
        ranges = [_range(int(left.sum() + right.sum()), left.size, right.size) for left, right in halves]
        queries += layout([most - least + 1 for least, most in ranges])[-1][0]
        groups = [half for pair in halves for half in pair if 0 < half.sum() < half.size]
    return queries
