"""All labels from any metric of the confusion matrix: every answer is the exact number of positives in a chosen set.

Accuracy, precision, F-beta, MCC, kappa and the others are strictly monotone in the true positives (M6), so that an
answer in full precision *is* that number; a detecting matrix asks for about ``2N / log2 N`` of them, all fixed
beforehand (M5, M7). Rounded answers are exact counts as long as the smallest step of the link exceeds the rounding:
precision steps by ``1 / s`` whatever N, so that blocks of some ``1.65 * 10**d`` records go on as if alone (M8).

Example::

    labelinf attack detecting-counts --metric f1 --labels breast-cancer
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAttack, MetricSession, released
from labelinf_scores.constructions.bit_sets import BitSets, n_columns, queries_needed
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, Totals
from labelinf_scores.metrics.readings.counts import ConfusionMetric

__all__ = ["CountPlan", "DetectingCounts", "counted", "least_step", "plan_of"]

_BLOCK = 1023  # queries of a block where the size of the sets is limited


@attrs.frozen(kw_only=True)
class CountPlan:
    """Blocks of records, one after the other, each with a detecting matrix of its own.

    Attributes:
        design: The matrix of a block.
        size: Records in a block.
        last: The matrix of the last block.
        n_labels: Records in all blocks; the totals give the last label.
        largest: Records in the largest set that is asked about.
    """

    design: BitSets
    size: int
    last: BitSets
    n_labels: int
    largest: int

    def blocks(self) -> Iterator[tuple[int, int, BitSets]]:
        """Yield where every block starts and ends, and its matrix."""
        for start in range(0, self.n_labels, self.size):
            stop = min(start + self.size, self.n_labels)
            yield start, stop, self.design if stop - start == self.size else self.last

    @property
    def queries(self) -> int:
        """How many they take together."""
        return sum(design.n_queries for _, _, design in self.blocks())


@attrs.frozen(kw_only=True)
class DetectingCounts(MetricAttack):
    """Recovers all labels by counting positives in sets that a detecting matrix prescribes."""

    rows = Rows.COUNTS
    reading_of = "counts of positives, as metrics of the confusion matrix tell them"
    statement: ClassVar[str] = "M5, M6, M8: labelinf theory, counting through a monotone link"

    def needed(self, threat: ScoreThreat, plan: CountPlan) -> int:
        """Return the queries within which every label comes out."""
        return plan.queries

    def too_coarse(self, threat: ScoreThreat) -> str:
        """A count must stand out from the error, in small sets at least."""
        return "" if plan_of(threat) else "one label does not stand out from the error of the score"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when the smallest step of the link exceeds twice the error, and the budget suffices."""
        plan, metric = plan_of(threat), threat.metric
        if plan is None or not isinstance(metric, ConfusionMetric):
            return None
        return Promise(
            survives=float(least_step(metric, threat.totals, plan.largest) / 2),
            present=float(released(threat).noise + metric.error_bound(threat.totals)),
            statement=self.statement,
            conditions=CONDITIONS,
            proved=metric.steps_at_ends and threat.facts.intact and threat.allows(self.needed(threat, plan)),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels over the queries of the plan."""
        plan = plan_of(threat)
        return threat.n_records / plan.queries if plan else 0.0

    def play(self, board: MetricSession) -> None:
        """Ask block after block."""
        plan = plan_of(board.oracle.threat)
        if plan is None:
            return
        for start, stop, prescribed in plan.blocks():
            left = board.oracle.remaining  # where it is not enough, the first rows and columns of the design
            design = prescribed if prescribed.n_queries <= left else BitSets(n_queries=max(1, int(left)))
            asked = np.arange(start, min(stop, start + n_columns(design.n_queries)))
            stop = start + asked.size
            counts = [counted(board, asked[design.row(x, stop - start) == 1]) for x in range(1, design.n_queries + 1)]
            exact = [count for count in counts if count is not None]
            if len(exact) == len(counts):
                board.settle(asked, decode_bit_sets(design, np.array(exact), stop - start))


def counted(board: MetricSession, chosen: NDArray[np.intp]) -> int | None:
    """Ask how many of the chosen records are positive; None when more than one number fits."""
    predictions = np.zeros(board.labels.size)
    predictions[chosen] = 1
    told = board.ask(predictions, chosen)
    return None if told is None else told.value


@functools.lru_cache(maxsize=8)
def plan_of(threat: ScoreThreat) -> CountPlan | None:
    """Return the plan for a board; None where it tells no label."""
    metric = threat.metric
    if not isinstance(metric, ConfusionMetric):
        return None
    return planned(metric, threat.totals, released(threat).noise)


def planned(metric: ConfusionMetric, totals: Totals, noise: Fraction) -> CountPlan | None:
    """Return the fewest queries that read every label through scores that are off by ``noise``; None: no label."""
    n_labels = totals.n_records - 1
    error = 2 * (noise + metric.error_bound(totals))
    widest = _widest(metric, totals, error)
    if widest == 0:
        return None
    if widest >= n_labels:
        whole = BitSets(n_queries=queries_needed(n_labels))
        return CountPlan(design=whole, size=n_labels, last=whole, n_labels=n_labels, largest=n_labels)
    design, size = max(_limited(widest, n_labels), key=lambda found: found[1] / found[0].n_queries)
    last = BitSets(n_queries=queries_needed(n_labels % size or size))
    return CountPlan(design=design, size=size, last=last, n_labels=n_labels, largest=widest)


@functools.lru_cache(maxsize=8)
def least_step(metric: ConfusionMetric, totals: Totals, largest: int) -> Fraction:
    """Return the smallest step of the link, over the sets of every size up to ``largest``."""
    return min(metric.step(s, totals) for s in range(1, largest + 1))


def _widest(metric: ConfusionMetric, totals: Totals, error: Fraction) -> int:
    """Return the largest size up to which sets of every size tried have steps beyond twice the error."""
    low, high = 0, totals.n_records - 1
    if all(metric.step(s, totals) > error for s in {1, high // 3 + 1, high // 2 + 1, high}):
        return high
    while low < high:
        middle = -(-(low + high) // 2)
        low, high = (middle, high) if metric.step(middle, totals) > error else (low, middle - 1)
    return low


def _limited(widest: int, n_labels: int) -> Iterator[tuple[BitSets, int]]:
    """Yield designs no row of which has more ones than ``widest``, and as many columns as they may have."""
    q = 1
    while q <= _BLOCK:
        design = BitSets(n_queries=q)
        size = min(n_columns(q), n_labels)
        most = np.zeros(size, dtype=np.int64)
        for x in range(1, q + 1):
            np.maximum(most, np.cumsum(design.row(x, size)), out=most)
        yield design, max(1, int(np.searchsorted(most, widest, side="right")))
        if most[-1] > widest or size == n_labels:
            return
        q = 2 * q + 1
