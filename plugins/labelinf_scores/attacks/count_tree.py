"""All labels from counts that are heeded: groups whose counts are known are halved, many at once (M10).

Every answer is an exact count, as `detecting-counts` reads it, but what is asked next depends on it: a half of a group
whose count is known may be added or taken away, and so a query tells one label more. Where one class is rare, all
records begin as one group, and groups of one class are done. How many queries it takes depends on the labels.

Example::

    labelinf attack count-tree --metric f1 --labels breast-cancer
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from labelinf_scores.attacks.detecting_counts import CountPlan, DetectingCounts, counted, plan_of
from labelinf_scores.attacks.metric_attack import MetricSession
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.halving import CountedGroup, Halving, expected

__all__ = ["CountTree", "halve"]


@attrs.frozen(kw_only=True)
class CountTree(DetectingCounts):
    """Recovers all labels by halving groups with known counts."""

    statement = "M5, M6, M10: labelinf theory, halving groups with known counts"

    def needed(self, threat: ScoreThreat, plan: CountPlan) -> int:
        """Return N: each query has a column of its own, and every column halves a group or takes fresh records."""
        return threat.n_records

    def too_coarse(self, threat: ScoreThreat) -> str:
        """A count must stand out from the error, and what is fixed beforehand must take longer."""
        plan = plan_of(threat)
        if plan is None or _queries(threat, plan) < plan.queries:
            return super().too_coarse(threat)
        return "nothing is gained by heeding counts"

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels over the queries that labels in some random order take."""
        plan = plan_of(threat)
        return threat.n_records / _queries(threat, plan) if plan else 0.0

    def play(self, board: MetricSession) -> None:
        """Halve groups of all records, in some random order."""
        plan = plan_of(board.oracle.threat)
        if plan is not None:
            halve(board, lambda row: counted(board, row.records), largest=_largest(board.oracle.threat, plan))


def halve(
    board: MetricSession, counted: Callable[[CountedGroup], int | None], *, largest: int | None = None, each: float = 1
) -> None:
    """Read the labels that are not known yet, as far as the budget goes.

    Args:
        board: What is known, and what is left of the budget.
        counted: Tells how many records of a row are positive; None when that was not found out.
        largest: Records that it can count; None: any number.
        each: Queries that a count takes.
    """
    state = Halving.of(board.rng.permutation(board.unknown), int(board.left[1]), largest)
    while board.left.all() and (turn := state.turn(max(1, board.oracle.remaining / each))) is not None:
        counts = []
        for row in turn.rows():
            count = row.least if row.least == row.most else counted(row)
            if count is None:
                return
            counts.append(count)
        for settled, label in state.learned(turn, turn.decode(counts)):
            board.settle(settled, [label] * settled.size)
    if board.unknown.size:  # all of one class
        board.settle(board.unknown, [int(board.left.argmax())] * board.unknown.size)


def _largest(threat: ScoreThreat, plan: CountPlan) -> int | None:
    return plan.largest if plan.largest < threat.n_records - 1 else None


def _queries(threat: ScoreThreat, plan: CountPlan) -> int:
    return expected(threat.n_records, threat.totals.n_positive, _largest(threat, plan))[0]
