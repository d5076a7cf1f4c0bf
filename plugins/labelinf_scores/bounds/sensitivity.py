"""An unclipped loss has no finite sensitivity: no scale of noise, however large, makes its score private.

As a prediction goes to zero, the two labels of one record move the score apart by ``ln((1 - u) / u) / N`` without
limit, so that any fixed noise is seen through (labelinf theory, sensitivity).
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import score_threat

__all__ = ["Sensitivity"]


@attrs.frozen(kw_only=True)
class Sensitivity(Bound):
    """The noise scale of epsilon = 1 for one answer: ``L / N``, infinite when the loss is not clipped."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """One line."""
        facts = score_threat(threat)
        if facts is None or (math.isinf(facts.sensitivity) and math.isfinite(facts.span)):
            return ()  # of earlier answers, say: no scale is known
        plain = facts.averaged is None and facts.magnification == 1 and facts.jump == 0
        return (
            BoundValue(
                title="Laplace scale for label-DP of one answer, epsilon = 1",
                direction=Direction.CEILING,
                quantity="noise",
                value=facts.sensitivity,
                formula="L / N"
                if plain
                else "c L / n + j: n records scored, behind a factor c; j, what a stage jumps by",
                conditions="scale b; adaptive queries add up; label-DP, whatever is known of class counts"
                if math.isfinite(facts.span)
                else "the loss is not clipped: no finite scale of any noise gives label-DP with delta < 1",
                statement="Dwork et al., TCC 2006, Proposition 1",
            ),
        )
