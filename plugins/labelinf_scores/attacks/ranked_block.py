"""All labels from a ranked list's score: a block on top, a rank for each, and everything else tied below (M19, M21).

What the block's labels are worth together, in NDCG or in average precision, is seldom worth the same for two
labellings: forty labels come out of a double. All labellings that fit an answer are looked up, in exact arithmetic and
with the scorer's error as the metric proves it; what they share is decided, and the rest is asked about again (M2).
Where they share nothing the blocks are halved, down to a single record, of which one answer decides.

Example::

    labelinf attack ranked-block --metric ndcg --labels breast-cancer
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.list_blocks import Discounts, Precisions
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAttack, MetricSession, released
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows, ScoredMetric
from labelinf_scores.metrics.readings.discounts import Ndcg
from labelinf_scores.metrics.readings.lists import AveragePrecision

__all__ = ["RankedBlock"]

_DOUBT = 0.25  #: labellings besides the true one that an answer leaves, on average
_MORE = 8  # queries at most beside two a record: of everybody tied, and the first after which blocks are halved


@attrs.frozen(kw_only=True)
class RankedBlock(MetricAttack):
    """Recovers all labels from discounts of ranks, or from precisions along a list."""

    reading_of = "discounts of ranks and precisions along a list"

    def reads(self, metric: ScoredMetric | None) -> bool:
        """Whether the metric is NDCG or an average precision."""
        return isinstance(metric, (Ndcg, AveragePrecision)) and metric.rows in (Rows.DISCOUNTS, Rows.PRECISIONS)

    def too_coarse(self, threat: ScoreThreat) -> str:
        """One record above all others must stand out."""
        apart = threat.metric is not None and _off(threat) < threat.metric.floor(threat.totals)
        return "" if apart else "one label does not stand out from the error of the score"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, where one record above all others stands out and the budget has two queries for each, and eight.

        An answer that decides nothing halves the blocks, one that decides anything makes them a record larger. Far
        fewer are needed, as a rule; how many depends on the labels.
        """
        if threat.metric is None:
            return None
        return Promise(
            survives=threat.metric.floor(threat.totals),
            present=math.nextafter(float(_off(threat)), math.inf),
            statement="M1, M2, M19, M21: labelinf theory, what all labellings share",
            conditions=CONDITIONS,
            proved=threat.facts.intact and threat.allows(2 * threat.n_records + _MORE),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels a query if every block is as long as the first and all of it decided: an upper estimate.

        The query in which everybody is tied counts, and so does a last block that is not full.
        """
        blocks = _blocks(MetricSession.unasked(threat))
        blocks.expect()
        return threat.n_records / (1 + math.ceil(threat.n_records / _size(blocks.board, blocks, blocks.most)))

    def play(self, board: MetricSession) -> None:
        """Ask block after block, until no record is left or one alone is not decided.

        Raises:
            ValueError: An answer fits no labels.
        """
        blocks = _blocks(board)
        blocks.start()
        limit = blocks.most
        while board.unknown.size:
            asked = board.unknown[: _size(board, blocks, limit)]
            found = blocks.ask(asked)
            decided = 0 if found is None else _settle(board, asked, found)
            if decided:
                limit += 1
            elif asked.size == 1:
                return
            else:
                limit = asked.size // 2


def _blocks(board: MetricSession) -> Discounts | Precisions:
    if isinstance(board.metric, Ndcg):
        return Discounts(board=board, metric=board.metric)
    if isinstance(board.metric, AveragePrecision):
        return Precisions(board=board, metric=board.metric)
    raise TypeError("blocks on top of a list are read from NDCG and from an average precision")


def _size(board: MetricSession, blocks: Discounts | Precisions, limit: int) -> int:
    """Return how many records to ask about: as many as leave hardly any doubt, on average."""
    most = min(limit, blocks.most, board.unknown.size)
    size = most
    while size > 1:
        spread, length = blocks.spread(board.unknown[:size])
        wanted = max(1, math.floor(math.log2(_DOUBT * math.sqrt(2 * math.pi) * max(spread, 1e-9) / length)))
        if wanted >= size:
            return size
        size = max(wanted, size - 4) if size - wanted > 8 else size - 1
    return 1


def _settle(board: MetricSession, asked: NDArray[np.intp], found: NDArray[np.int8]) -> int:
    """Write down what all labellings share that the class totals allow, and return how many labels that is.

    Raises:
        ValueError: None is left.
    """
    left = board.totals.n_positive - int(board.labels[board.known].sum())
    positive = found.sum(axis=1)
    found = found[(positive <= left) & (asked.size - positive <= board.unknown.size - left)]
    if not len(found):
        raise ValueError("the answer fits no labels")
    shared = (found == found[0]).all(axis=0)
    board.settle(asked[shared], found[0, shared].astype(np.intp))
    return int(shared.sum())


def _off(threat: ScoreThreat) -> Fraction:
    """Return how far a released score of one record above all others may be off the exact one."""
    metric, totals, printed = threat.metric, threat.totals, released(threat)
    alone = np.eye(1, threat.n_records)[0]
    if isinstance(metric, Ndcg):
        return metric.off(2, totals, printed)
    if isinstance(metric, AveragePrecision):
        low, high = printed.interval(Fraction(1), metric.error(alone, totals))
        return max(high - 1, 1 - low)
    return Fraction(1)
