"""Signs of a Hadamard matrix and least squares: the noise that many queries see through (labelinf theory, Hadamard).

With q a Hadamard order of at least N, noise of standard deviation s and span L, each label is read with probability
``Phi(L sqrt(q) / (2 N s))``. For Gaussian noise that is also the most any attack can do: floor and ceiling meet. Of
noise of any kind, even worst-case, at most ``(2 N tau / L)**2`` labels are misread.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds.common import is_open, score_threat
from labelinf_scores.constructions.hadamard_matrix import largest_order, smallest_order
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["HadamardNoise", "hadamard_std"]


def hadamard_std(span: float, n_records: int, queries: int, accuracy: float) -> float:
    """Return the standard deviation through which a share ``accuracy`` > 1/2 of the labels is read."""
    return span * math.sqrt(queries) / (2 * n_records * NormalDist().inv_cdf(accuracy))


@attrs.frozen(kw_only=True)
class HadamardNoise(Bound):
    """Floors for random noise under many queries.

    Attributes:
        target: Share of labels that the attack reads below the floor, in (1/2, 1).
    """

    target: float = attrs.field(default=0.99, validator=[attrs.validators.gt(0.5), attrs.validators.lt(1)])

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Two floors, when the budget reaches N, there are two classes, and rows can be meant for records."""
        facts = score_threat(threat)
        if facts is None or not is_open(facts) or facts.n_classes != 2 or math.isinf(facts.span):
            return ()
        n, budget = facts.n_records, facts.query_budget
        order = smallest_order(n) if budget is None else largest_order(budget)
        return (_random(facts, order, self.target), _worst_case(facts, self.target)) if order >= n else ()


def _random(facts: ScoreThreat, order: int, target: float) -> BoundValue:
    return BoundValue(
        title=f"Gaussian noise through which {target:.0%} of labels are read in {order} queries",
        direction=Direction.FLOOR,
        quantity="noise",
        value=hadamard_std(facts.span, facts.n_records, order, target),
        formula="s = L sqrt(q) / (2 N Phi^-1(a))",
        conditions="standard deviation of independent noise; q a Hadamard order of at least N",
        statement="labelinf theory, Hadamard least squares",
    )


def _worst_case(facts: ScoreThreat, target: float) -> BoundValue:
    return BoundValue(
        title=f"noise of any kind through which {target:.0%} of labels are read",
        direction=Direction.FLOOR,
        quantity="noise",
        value=facts.span * math.sqrt((1 - target) / facts.n_records) / 2,
        formula="L sqrt((1 - a) / N) / 2",
        conditions="largest absolute error, worst case; q a Hadamard order of at least N",
        statement="labelinf theory, Hadamard least squares",
    )
