"""Noise on a metric that is no mean of a loss: what does not stop one label a query, and what hides labels for ever.

With the class totals public, the least that can be hidden is which of a positive and a negative is which: noise of half
of what their exchange can do to any score, chosen by the curator, hides that for ever (M18). Half of what one record by
itself does to the score of a chosen query is too little (M40): of precision that is one half, whatever N.
"""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
from scipy.special import ndtr, ndtri

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import any_score, is_of_all, is_open
from labelinf_scores.metrics.readings import ScoredMetric, Totals
from labelinf_scores.metrics.readings.two_values import noise

__all__ = ["MetricNoise", "exchanged_accuracy"]

_GAIN = 0.6  # balanced accuracy that the Gaussian line is for

_PUBLIC = "largest absolute error, worst case; class totals public"


@attrs.frozen(kw_only=True)
class MetricNoise(Bound):
    """One floor and one ceiling for the noise of a metric."""

    several_metrics: ClassVar[bool] = True

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Two lines, where the metric knows them; rounding is no noise that grows with the queries, and stops none."""
        facts = any_score(threat)
        boards = () if facts is None else facts.members or (facts,)
        known = [(board, *noise(board.metric, board.totals)) for board in boards if board.metric is not None]
        if facts is None or not known or max(facts.prior) == 1:
            return ()
        # Of several metrics the one that is read through most.
        floor = max(through if is_open(board) else 0.0 for board, through, _ in known)
        enough = known[0][2] if not facts.members and is_of_all(facts) else math.inf
        lines = []
        if floor > 0:
            lines.append(
                BoundValue(
                    title="noise through which every label is read, one record a query",
                    direction=Direction.FLOOR,
                    quantity="noise",
                    value=floor,
                    formula="half the step of one record",
                    conditions=f"{_PUBLIC}; rounding to a step r is noise of r / 2",
                    statement="labelinf theory, M40",
                )
            )
        if math.isfinite(enough):
            lines.append(
                BoundValue(
                    title="worst-case noise that makes reading every label impossible",
                    direction=Direction.CEILING,
                    quantity="noise",
                    value=enough,
                    formula="half of what exchanging a positive and a negative can do",
                    conditions=_PUBLIC,
                    statement="labelinf theory, M18",
                )
            )
            if facts.query_budget and len(facts.totals.counts) == 2:
                lines.append(_gaussian_needed(enough, facts.query_budget))
        return tuple(lines)


def exchanged_accuracy(metric: ScoredMetric, totals: Totals, scale: float, queries: int) -> float:
    """Return the most that any guess of all labels has as balanced accuracy, on average over the labellings (M38).

    Labels are uniform over the orders with these class totals, and every answer has Gaussian noise. Exchanging the
    labels of a positive and a negative is then as likely, and moves an answer by ``D`` at most: no guess is right about
    both more often than ``2 Phi(D sqrt(q) / (2 s))`` times, adaptive queries included.

    Args:
        metric: What is scored.
        totals: The class totals, public.
        scale: Standard deviation s of the noise of an answer.
        queries: Answers q.
    """
    return float(ndtr(noise(metric, totals)[1] * math.sqrt(queries) / scale))


def _gaussian_needed(enough: float, queries: int) -> BoundValue:
    return BoundValue(
        title=f"Gaussian noise that holds every attack to a balanced accuracy of {_GAIN:.0%}",
        direction=Direction.CEILING,
        quantity="noise",
        value=enough * math.sqrt(queries) / float(ndtri(_GAIN)),
        formula="s = D sqrt(q) / (2 Phi^-1(a)), D what exchanging a positive and a negative can do",
        conditions=f"standard deviation, {queries} adaptive queries; class totals public, all orders of labels alike",
        statement="labelinf theory, M38",
    )
