"""Noise on a metric that is no mean of a loss: what does not stop one label a query, and what hides labels for ever.

With the class totals public, the least that can be hidden is which of a positive and a negative is which: noise of half
of what their exchange can do to any score, chosen by the curator, hides that for ever (M18). Half of what one record by
itself does to the score of a chosen query is too little (M40): of precision that is one half, whatever N.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import any_score
from labelinf_scores.metrics.readings.two_values import noise

__all__ = ["MetricNoise"]

_PUBLIC = "largest absolute error, worst case; class totals public"


@attrs.frozen(kw_only=True)
class MetricNoise(Bound):
    """One floor and one ceiling for the noise of a metric."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Two lines, where the metric knows them; rounding is no noise that grows with the queries, and stops none."""
        facts = any_score(threat)
        if facts is None or facts.metric is None or max(facts.prior) == 1:
            return ()
        metric, totals = facts.metric, facts.totals
        floor, enough = noise(metric, totals)
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
        return tuple(lines)
