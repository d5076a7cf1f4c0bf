"""All labels of two classes behind any rounding: known records move its boundaries (M9).

Predictions are 0 and 1, of which the AUC, NDCG, kappas and averages of F1 are metrics of the confusion matrix, too.
Where a printed step hides several counts, known records that are predicted wrong on purpose shift the score until a
boundary of the rounding lies between two counts; a bisection then finds the exact one. What is known to start with is
found by the same means: a path of predictions is bisected to two neighbours that are printed differently, and beside
such a boundary every query tells one label. Counts go on as in `count-tree`; where a printed step hides so many
that the bisection costs more than the matrix saves, labels are read one by one to the end.

Example::

    labelinf attack dithered-counts --metric accuracy --labels breast-cancer --defence 'round(decimals=2)'
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN
from labelinf_core.contracts.errors import QueriesExhaustedError, QueryRefusedError
from labelinf_scores.attacks.count_tree import halve
from labelinf_scores.attacks.metric_attack import MetricAttack, MetricSession, released
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, ScoredMetric, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric
from labelinf_scores.metrics.readings.two_values import counter
from labelinf_scores.plans.halving import CountedGroup, expected

__all__ = ["DitheredCounts"]

_PATHS = 24  # orders of the records that are tried until two neighbours are printed differently
_OFFSETS = 400  # known records of a kind that are used to shift a score, at most
_CLEAR = 3  # times the error of the scorer's arithmetic that a boundary must stay away from a score


@attrs.frozen(kw_only=True)
class DitheredCounts(MetricAttack):
    """Recovers all labels through rounding by shifting scores to its boundaries."""

    rows = Rows.COUNTS
    reading_of = "counts of positives, as metrics of two classes tell them of predictions 0 and 1"

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether the metric is a function of the true positives where predictions are 0 and 1."""
        return counter(metric) is not None

    def too_coarse(self, threat: ScoreThreat) -> str:
        """There must be rounding, and nothing else between."""
        if not threat.step:
            return "the score is not rounded: counts are told as they are"
        if threat.noise_bound > threat.step * 0.51:
            return "there is more than rounding between"
        if threat.n_classes != 2:
            return "there are more than two classes"
        return "" if _hidden(threat) < threat.n_records else "one printed value stands for all counts"

    def rate(self, threat: ScoreThreat) -> float:
        """Return about how many labels a query tells."""
        start = math.log2(threat.n_records) + _wanted(threat)
        counts = expected(threat.n_records, threat.totals.n_positive)[0]
        return max(1.0, threat.n_records / (start + counts * _queries_per_count(threat)))

    def play(self, board: MetricSession) -> None:
        """Find a boundary, read labels beside it, then count groups where that is quicker."""
        threat = board.oracle.threat
        metric = counter(board.metric)
        if metric is None:
            raise TypeError("functions of the true positives are read by this attack alone")
        step = Fraction(threat.step).limit_denominator(10**16)
        dither = _Dither(board=board, metric=metric, step=step, totals=threat.totals)
        wanted = board.labels.size
        if self.rate(threat) > 1:
            wanted = min(wanted, _wanted(threat))
        if not _beside_a_boundary(board, dither, wanted):
            return
        if board.unknown.size:
            halve(board, dither.count, each=_queries_per_count(threat))


def _hidden(threat: ScoreThreat) -> float:
    """Return how many counts one printed value stands for, of a set of half of the records."""
    metric = counter(threat.metric)
    if metric is None:
        return math.inf
    step = metric.step(max(1, threat.n_records // 2), threat.totals)
    return threat.step / float(step) if step else math.inf  # a list that holds all records tells nothing


def _wanted(threat: ScoreThreat) -> int:
    """Return how many labels must be known before counts are told apart."""
    return math.ceil(min(2 * _hidden(threat), threat.n_records)) + 2


def _queries_per_count(threat: ScoreThreat) -> float:
    return 1 + max(0.0, math.log2(_hidden(threat)))


@attrs.define(kw_only=True, eq=False)
class _Dither:
    """A board whose answers are narrowed down by shifting them.

    Attributes:
        board: What is asked.
        metric: What is scored, of predictions 0 and 1.
        step: Of the rounding.
        totals: The class totals.
    """

    board: MetricSession
    metric: ConfusionMetric
    step: Fraction
    totals: Totals

    def between(self, chosen: NDArray[np.bool_]) -> tuple[int, int, float]:
        """Ask with these predicted positive; return the least and the largest number of positives among them.

        And what was answered.

        Raises:
            QueriesExhaustedError: The budget is spent, or the query was refused.
            ValueError: The answer fits no labels.
        """
        try:
            answer = self.board.oracle.query(chosen.astype(np.float64))
        except QueriesExhaustedError:
            raise
        except QueryRefusedError as error:
            raise QueriesExhaustedError("a query of this attack was refused.") from error
        threat = self.board.oracle.threat
        told = self.metric.reading(chosen.astype(np.float64), Fraction(float(answer)), threat.totals, released(threat))
        return math.ceil(told.low), math.floor(told.high), float(answer)

    def printed(self, count: int, size: int) -> tuple[int, Fraction]:
        """Return which step a score is printed as, and how far it is from where the next one begins, in steps."""
        steps = self.metric.link(count, size, self.totals) / self.step + Fraction(1, 2)
        place = steps - math.floor(steps)
        return math.floor(steps), min(place, 1 - place)

    def apart(self, one: tuple[int, int], other: tuple[int, int]) -> Fraction:
        """Return how clearly two counts, each of a set of some size, are printed differently; 0: they are not."""
        (first, near), (second, far) = self.printed(*one), self.printed(*other)
        return min(near, far) if first != second else Fraction(0)

    def count(self, row: CountedGroup) -> int | None:
        """Return how many records of a row, none of which is known, are positive; None when that is not found out."""
        board, chosen, left = self.board, row.records, self.board.left
        low, high = max(row.least, chosen.size - int(left[0])), min(row.most, int(left[1]))
        shift: tuple[int, int] | None = (int((board.labels == 1).sum()), 0)
        while low < high and shift is not None:
            predicted = np.zeros(board.labels.size, dtype=bool)
            predicted[chosen] = True
            predicted[np.flatnonzero(board.labels == 1)[: shift[0]]] = True
            predicted[np.flatnonzero(board.labels == 0)[: shift[1]]] = True
            least, most, _ = self.between(predicted)
            narrowed = max(low, least - shift[0]), min(high, most - shift[0])
            if narrowed[0] > narrowed[1]:
                raise ValueError("no count fits all answers")
            low, high = narrowed
            shift = self.shift(low, high, chosen.size)
        return low if low == high else None

    def shift(self, low: int, high: int, size: int) -> tuple[int, int] | None:
        """Return how many known positives and negatives to predict positive so that the middle is told apart."""
        if low == high:
            return None
        positive, negative = (int((self.board.labels == label).sum()) for label in (1, 0))
        options = [
            *((positive - wrong, 0) for wrong in range(min(positive, _OFFSETS) + 1)),
            *((right, wrong) for right in (positive, 0) for wrong in range(1, min(negative, _OFFSETS) + 1)),
        ]
        clear = _CLEAR * self.metric.error_bound(self.totals) / self.step
        apart = abs(self.metric.link(high, size, self.totals) - self.metric.link(low, size, self.totals))
        gap = apart / self.step / (high - low)
        enough, middle = min(gap / 4, Fraction(1, 8)), (low + high - 1) // 2
        for split in sorted(range(low, high), key=lambda at: abs(at - middle)):
            best, found = clear, None
            for right, wrong in options:
                added, total = right + split, right + wrong + size
                margin = self.apart((added, total), (added + 1, total))
                if margin > best:
                    best, found = margin, (right, wrong)
                if margin > enough:
                    break
            if found is not None:
                return found
        return None


def _beside_a_boundary(board: MetricSession, dither: _Dither, wanted: int) -> bool:
    """Read ``wanted`` labels one by one beside a boundary; whether there was one.

    A path predicts one record more positive after the other. Between two sets that are printed differently some
    neighbours are, too; which count the first of them has then follows from both answers.
    """
    n, path = board.labels.size, np.random.default_rng(0)
    for turn in range(_PATHS):
        order = np.arange(n) if turn == 0 else path.permutation(n)
        start = _bisected(dither, order)
        if start is None:
            continue
        size, count, label = start
        board.settle(order[size : size + 1], [label])
        read = _singles(board, dither, order, size, count, label, wanted)
        if read:
            return True
    return False


def _bisected(dither: _Dither, order: NDArray[np.intp]) -> tuple[int, int, int] | None:
    """Return the size of a set on the path, its count, and the label of the next record; None when none was found."""

    def told(size: int) -> tuple[int, int, float]:
        chosen = np.zeros(order.size, dtype=bool)
        chosen[order[:size]] = True
        return dither.between(chosen)

    low, high = 1, order.size - 1
    first, last = told(low), told(high)
    if first[2] == last[2]:
        high = (low + high) // 2
        last = told(high)
    if first[2] == last[2]:
        return None
    while high - low > 1:
        half = (low + high) // 2
        middle = told(half)
        low, first, high, last = (half, middle, high, last) if middle[2] == first[2] else (low, first, half, middle)
    fitting = [
        (count, label)
        for count in range(first[0], first[1] + 1)
        for label in (0, 1)
        if last[0] <= count + label <= last[1]
    ]
    return (low, *fitting[0]) if len(fitting) == 1 else None


def _singles(
    board: MetricSession,
    dither: _Dither,
    order: NDArray[np.intp],
    size: int,
    count: int,
    label: int,
    wanted: int,
) -> int:
    """Read labels of records one by one, each put into a set beside a boundary or taken out; how many were read."""
    clear = _CLEAR * dither.metric.error_bound(board.totals) / dither.step
    sets = ((size, count), (size + 1, count + label))
    before = np.zeros(order.size, dtype=np.intp)
    before[order] = np.arange(order.size)
    read = 0
    for record in order[::-1].tolist():
        if board.labels.size - board.unknown.size >= wanted or not board.unknown.size:
            break
        if board.labels[record] != ABSTAIN:
            continue
        options = []
        for taken, positives in sets:
            sign = -1 if before[record] < taken else 1
            ends = (positives, taken + sign), (positives + sign, taken + sign)
            options.append((dither.apart(*ends), taken, positives, sign))
        margin, taken, positives, sign = max(options)
        if margin <= clear:
            continue
        chosen = np.zeros(order.size, dtype=bool)
        chosen[order[:taken]] = True
        chosen[record] = sign > 0
        least, most, _ = dither.between(chosen)
        fitting = [one for one in (0, 1) if least <= positives + sign * one <= most]
        if len(fitting) != 1:
            raise ValueError("an answer beside a boundary tells no label")
        board.settle(np.array([record]), fitting)
        read += 1
    return read
