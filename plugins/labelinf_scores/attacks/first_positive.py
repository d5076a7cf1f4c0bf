"""All labels from the reciprocal rank: every answer finds one positive, and all negatives above it (M22).

Records that are not known stand on top, a rank for each; what is known stands below. The answer is one over the rank of
the first positive: those above it are negative. So P answers give all labels away, and rounding only asks for shorter
lists: two ranks r and r + 1 are told apart while ``1 / (r (r + 1))`` exceeds the step, and what is left is tied.

Example::

    labelinf attack first-positive --metric reciprocal-rank --labels breast-cancer
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.attacks.metric_attack import CONDITIONS, MetricAnswer, MetricAttack, MetricSession, released
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.metrics.readings import Rows
from labelinf_scores.metrics.readings.base import UNIT

__all__ = ["FirstPositive"]


@attrs.frozen(kw_only=True)
class FirstPositive(MetricAttack):
    """Recovers all labels from where the first positive of a list stands."""

    rows = Rows.FIRST
    reading_of = "the place of the first positive"

    def too_coarse(self, threat: ScoreThreat) -> str:
        """A positive on top must stand out."""
        return "" if _ranks(threat) else "one label does not stand out from the error of the score"

    def promised(self, threat: ScoreThreat) -> Promise | None:
        """Every label, where a positive on top stands out: every answer finds a positive or as many negatives."""
        ranks = _ranks(threat)
        needed = threat.totals.n_positive + -(-threat.totals.n_negative // max(1, ranks))
        return Promise(
            survives=0.25,
            present=math.nextafter(_off(threat), math.inf),
            statement="M22: labelinf theory, the first positive",
            conditions=CONDITIONS,
            proved=ranks > 0 and threat.facts.intact and threat.allows(needed),
            strict=True,
        )

    def rate(self, threat: ScoreThreat) -> float:
        """Return the labels a query: up to the first positive, or as many as can be told apart."""
        negative = threat.totals.n_negative / threat.totals.n_records
        return min(threat.n_records / threat.totals.n_positive, (1 - negative ** _ranks(threat)) / (1 - negative))

    def play(self, board: MetricSession) -> None:
        """Ask about as many records as can be told apart, until one class is used up.

        Raises:
            ValueError: An answer fits no labels.
        """
        ranks = _ranks(board.oracle.threat)
        while board.unknown.size:
            left = board.totals.n_positive - int(board.labels[board.known].sum())
            if left in (0, board.unknown.size):
                board.settle(board.unknown, np.full(board.unknown.size, int(left > 0)))
                return
            unknown = board.unknown
            predictions = np.zeros(board.labels.size)
            predictions[unknown] = 1
            predictions[unknown[:ranks]] = np.arange(ranks, 0, -1)[: unknown.size] + 1
            told = board.ask(predictions, unknown)
            if told is None:
                return
            _settle(board, unknown, told)


def _settle(board: MetricSession, unknown: NDArray[np.intp], told: MetricAnswer) -> None:
    """Write down that those above the first positive are negative, and it, where it is one record.

    Raises:
        ValueError: Nothing is told: the scorer is not what it was taken for.
    """
    above, first = unknown[told.gaps > 0], unknown[told.gaps < 0]
    board.settle(above, np.zeros(above.size, dtype=np.intp))
    if first.size == 1:
        board.settle(first, [1])
    elif not above.size:
        raise ValueError("an answer tells nothing of the records on top")


def _off(threat: ScoreThreat) -> float:
    """Return how far a released score may be off the exact one."""
    low, high = released(threat).interval(Fraction(1), 4 * UNIT)
    return float(max(high - 1, 1 - low))


def _ranks(threat: ScoreThreat) -> int:
    """Return how many ranks are told apart from one another and from those below."""
    apart = 2 * _off(threat)
    ranks = math.floor(math.sqrt(1 / apart)) if apart else threat.n_records
    while ranks and not 1 / (ranks * (ranks + 1)) > apart:
        ranks -= 1
    return min(ranks, threat.n_records)
