"""All labels from weighted kappas: a weighted count of grades in every answer, and wide detecting matrices.

The sum of squared disagreements tells ``sum_i p_i y_i`` (M27): entries 0, ..., K - 1 for labels 0, ..., K - 1, so that
a detecting matrix needs fewer queries than labels. Of disagreements that are not squared, a record predicted K - 1
instead of 0 costs ``K - 1 - 2 y``: entries 0 and 1.

Example::

    labelinf attack detecting-grades --metric quadratic-kappa --labels digits
"""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAttack, MetricSession, released
from labelinf_scores.constructions.bit_sets import BitSets, n_columns, queries_needed
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.grades import QuadraticKappa

__all__ = ["DetectingGrades"]


@attrs.frozen(kw_only=True)
class DetectingGrades(MetricAttack):
    """Recovers all labels of an ordered scale by adding up grades that a detecting matrix weighs."""

    rows = Rows.GRADES
    reading_of = "sums of grades, as weighted kappas tell them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """One step of the sum must stand out from the error, whatever the row."""
        return "" if _survives(threat) > released(threat).noise else "one label does not stand out from the error"

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels over the queries of the matrix."""
        return threat.n_records / _design(threat, threat.n_records - 1).n_queries

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when a step of the sum exceeds twice the error in every row, and the budget suffices."""
        design = _design(threat, threat.n_records - 1)
        return Promise(
            survives=float(_survives(threat)) * (1 - 2.0**-40),
            present=math.nextafter(float(released(threat).noise), math.inf),
            statement="M5, M27: labelinf theory, counting through a weighted kappa",
            conditions=CONDITIONS,
            proved=threat.facts.intact and threat.allows(design.n_queries),
            strict=True,
        )

    def play(self, board: MetricSession) -> None:
        """Ask the rows of one matrix, cut to the budget."""
        threat, n_labels = board.oracle.threat, board.labels.size - 1
        while n_labels > 0:
            design = _design(threat, n_labels)
            if design.n_queries <= board.oracle.remaining:
                break
            n_labels = n_columns(int(board.oracle.remaining), threat.n_classes, _largest(threat))
        if n_labels <= 0:
            return
        asked = np.arange(min(n_labels, board.labels.size - 1))
        sums = [_sum(board, design.row(x, asked.size), asked) for x in range(1, design.n_queries + 1)]
        exact = [total for total in sums if total is not None]
        if len(exact) == len(sums):
            board.settle(asked, decode_bit_sets(design, np.array(exact), asked.size))


def _largest(threat: ScoreThreat) -> int:
    metric = threat.metric
    return threat.n_classes - 1 if isinstance(metric, QuadraticKappa) and metric.power == 2 else 1


@functools.lru_cache(maxsize=8)
def _design(threat: ScoreThreat, n_labels: int) -> BitSets:
    needed = queries_needed(n_labels, threat.n_classes, _largest(threat))
    return BitSets(n_queries=max(1, needed), n_values=threat.n_classes, largest=_largest(threat))


def _sum(board: MetricSession, entries: NDArray[np.int64], asked: NDArray[np.intp]) -> int | None:
    """Return the weighted sum of labels, of entries in units of the matrix; None when the answer does not tell."""
    threat = board.oracle.threat
    step = (threat.n_classes - 1) // _largest(threat)
    predictions = np.zeros(board.labels.size)
    predictions[asked] = entries * step
    chosen = asked[entries > 0]
    told = board.ask(predictions, chosen)
    if told is None:
        return None
    # A record's cost is linear in its label: with squares -2 p y, without -2 y, beside what label 0 costs.
    apart, unit = sum(int(cost) for cost in told.gaps[:, 0]), -2
    low, high = sorted(((told.low - apart) / unit, (told.high - apart) / unit))
    return math.ceil(low) if math.ceil(low) == math.floor(high) else None


@functools.lru_cache(maxsize=8)
def _survives(threat: ScoreThreat) -> float:
    """Return the error below which a whole number is told, in the worst row of the matrix."""
    metric, totals = threat.metric, threat.totals
    if not isinstance(metric, QuadraticKappa):
        return 0.0
    design, n = _design(threat, threat.n_records - 1), threat.n_records
    worst = 0.0
    for x in range(1, design.n_queries + 1):
        entries = design.row(x, n - 1) * ((threat.n_classes - 1) // design.largest)
        sizes = np.bincount(np.append(entries, 0), minlength=threat.n_classes)
        worst = max(worst, float(metric.expected(sizes, totals)))
    # Half a step of the sum is one unit of disagreement; the library's own error comes off it.
    own = float(metric.off(totals)) * (1 + 2 * worst)
    return max(0.0, 1 / worst - own)
