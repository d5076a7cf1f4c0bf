"""All labels from the area under the ROC curve: a whole number in every answer, and known records as spacers.

``2 P n AUC + P (P + 1)`` is the sum of the positives' doubled midranks (M12), read exactly from a double up to some
200 000 records. A query ties the records it does not ask about; probes stand apart from them by gaps that records known
already space. Single queries have Conway and Guy's gaps (M13). Batches read some labels of every query bit by bit, as
the 2-adic digits of the sum, and many more from all of its queries together: what is left of the sum counts the
positives of a group that a detecting matrix chose (M14). A rounded AUC leaves an interval; the sums of a single query
are then laid further apart than it is long, looked at before anything is asked (M17).

That plan is certain of every label within a number of queries that is known beforehand, and is played where a budget
asks for it. Otherwise places are random, and all labellings that fit the answers are kept: fewer queries by a fifth,
half as many of a rounded AUC, and nothing is written down that is not certain either.

Example::

    labelinf attack spaced-ranks --metric roc-auc --labels breast-cancer
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import attrs
import numpy as np

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAnswer, MetricAttack, MetricSession, released
from labelinf_scores.attacks.ranked_list import RankedList, expected_rate
from labelinf_scores.decoders.exhaustive import all_sums, as_costs, labels_of_index
from labelinf_scores.decoders.moebius import decode_bit_sets
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.ranks import RocAuc
from labelinf_scores.plans.rank_plan import RankQuery, rank_queries

__all__ = ["SpacedRanks"]

_HOPELESS = 4  # times N: intervals that the sums of some sixteen records hardly leave


@attrs.frozen(kw_only=True)
class SpacedRanks(MetricAttack):
    """Recovers all labels from ranks."""

    rows = Rows.RANKS
    reading_of = "sums of ranks, as the AUC tells them"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """One record above all others must stand out, or several together."""
        return (
            ""
            if _width(threat) < _HOPELESS * threat.n_records
            else "one label does not stand out from the error of the score"
        )

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, when every sum that can come up stands out from the error, and the budget suffices."""
        width = _width(threat)
        n_queries, n_read = _planned(threat.n_records, width)
        return Promise(
            survives=math.nextafter((width + 1) / (2 * _scale(threat)), 0),
            present=math.nextafter(float(_off(threat)), math.inf),
            statement="M12, M13, M14: labelinf theory, sums of ranks",
            conditions=CONDITIONS,
            proved=n_read == threat.n_records - 1 and threat.facts.intact and threat.allows(n_queries),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels over the queries of the plan, or what a list is estimated to read, if that is more."""
        n_queries, n_read = _planned(threat.n_records, _width(threat))
        return max(n_read / n_queries if n_queries else 0.0, expected_rate(threat.totals, _width(threat)))

    @staticmethod
    def _prescribed(threat: ScoreThreat, budget: float) -> bool:
        """Whether the budget ends, and the plan that is laid out beforehand, which is certain, ends before it."""
        n_queries, n_read = _planned(threat.n_records, _width(threat))
        return n_queries <= budget < math.inf and n_read == threat.n_records - 1

    def play(self, board: MetricSession) -> None:
        """Keep a list, or ask what is prescribed; a batch is decoded when its last answer is there."""
        threat = board.oracle.threat
        if not self._prescribed(threat, board.oracle.remaining):
            RankedList(board=board, width=_width(threat)).play()
            return
        counts: list[int] = []
        for query in rank_queries(board.labels.size, _width(threat)):
            told = board.ask(query.predictions(board.labels.size), np.concatenate([query.probes, query.top]))
            if told is None:
                return
            if query.batch is None:
                _single(board, query, told)
                continue
            counts.append(_digits(board, query, told))
            if query.last:
                batch = query.batch
                found = decode_bit_sets(batch.design, np.array(counts), batch.stop - batch.start)
                board.settle(np.arange(batch.start, batch.stop), found)
                counts = []


def _single(board: MetricSession, query: RankQuery, told: MetricAnswer) -> None:
    """Write down the only labels whose sum fits.

    Raises:
        ValueError: No labels fit, or several do although their sums were laid apart.
    """
    sums = all_sums(as_costs(np.asarray(told.gaps, dtype=np.int64)))
    fitting = np.flatnonzero((sums >= math.ceil(told.low)) & (sums <= math.floor(told.high)))
    if fitting.size != 1:
        raise ValueError("not exactly one labelling fits the answer")
    board.settle(query.probes, labels_of_index(fitting, len(told.gaps), 2)[0])


def _digits(board: MetricSession, query: RankQuery, told: MetricAnswer) -> int:
    """Read the probes of a query of a batch, one bit after the other, and return the count of its top group.

    Raises:
        ValueError: No labels have this sum.
    """
    left = told.value
    if left is None:
        raise ValueError("the answer is no whole number")
    gaps = [int(gap) for gap in told.gaps[: query.probes.size]]
    found = np.zeros(len(gaps), dtype=np.intp)
    for place in sorted(range(len(gaps)), key=lambda i: gaps[i] & -gaps[i]):
        unit = gaps[place] & -gaps[place]
        if left % unit:
            raise ValueError("no labels have this sum")
        found[place] = left // unit % 2
        left -= int(found[place]) * gaps[place]
    count, remainder = divmod(left, int(told.gaps[-1]))
    if remainder or not 0 <= count <= query.top.size:
        raise ValueError("no labels have this sum")
    board.settle(query.probes, found)
    return count


def _scale(threat: ScoreThreat) -> int:
    """Return how much the sum of doubled midranks moves when the AUC moves by one."""
    return 2 * threat.totals.n_positive * threat.totals.n_negative


def _off(threat: ScoreThreat) -> Fraction:
    """Return how far a released AUC may be off the exact one."""
    metric = threat.metric
    return metric.off(threat.totals, released(threat)) if isinstance(metric, RocAuc) else Fraction(1)


def _width(threat: ScoreThreat) -> int:
    """Return the largest distance of two whole numbers in the interval that an answer leaves for the sum."""
    return math.floor(2 * _off(threat) * _scale(threat))


@functools.lru_cache(maxsize=8)
def _planned(n_records: int, width: int) -> tuple[int, int]:
    """Return the queries and the labels they read."""
    n_queries = n_read = 0
    batch = None
    for query in rank_queries(n_records, width):
        n_queries += 1
        n_read += query.probes.size
        if query.batch is not None and query.batch is not batch:
            batch = query.batch
            n_read += batch.stop - batch.start
    return n_queries, n_read
