"""A bound that works, and one that does not."""

from __future__ import annotations

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Direction
from labelinf_core.contracts.threat import ThreatModel


@attrs.frozen(kw_only=True)
class OneLabel(Bound):
    """One label per query."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        return (
            BoundValue(
                title="noise against one label per query",
                direction=Direction.FLOOR,
                quantity="noise",
                value=getattr(threat, "span", 1.0) / (2 * threat.n_records),
                formula="L / (2 N)",
                conditions="worst-case noise",
                statement="labelinf tests, bound",
            ),
        )


@attrs.frozen(kw_only=True)
class Broken(Bound):
    """Raises."""

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        raise OverflowError("too large")
