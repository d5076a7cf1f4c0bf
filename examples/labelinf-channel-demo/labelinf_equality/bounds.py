"""What label-DP denies: no answer moves the odds of one label against the rest by more than ``exp(epsilon)``.

With labels that are independent a priori, the best guess of one is right with probability at most
``p e^eps / (p e^eps + 1 - p)``, p being the largest class share (Bayes' rule).
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_equality.game import EqualityThreat

__all__ = ["EqualityLabelDp"]

_STATEMENT = "labelinf-channel-demo, README"
_CONDITIONS = "labels are independent with the public class shares"


@attrs.frozen(kw_only=True)
class EqualityLabelDp(Bound):
    """The share of labels that any attack can expect when the whole game is label-DP."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Return one line where there is a budget of privacy."""
        title, formula = "labels recovered under label-DP", "p e^eps / (p e^eps + 1 - p)"
        return tuple(ceiling.line(title, formula) for ceiling in self.ceilings(threat))

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return the ceiling; none without label-DP."""
        if not isinstance(threat, EqualityThreat) or math.isinf(threat.label_epsilon):
            return ()
        share = threat.baseline
        odds = math.exp(-min(threat.label_epsilon, 700.0)) * (1 - share) / share
        accuracy = 1 / (1 + odds)
        return (Ceiling(accuracy=accuracy, exact=accuracy, statement=_STATEMENT, conditions=_CONDITIONS),)
