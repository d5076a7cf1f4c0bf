"""Conway-Guy weights: one label more per query than powers of two where the clip limits the widest gap.

The widest rows take Conway and Guy's weights, all narrower than the widest power of two, and are decoded by a table
(:mod:`labelinf_scores.constructions.conway_guy`). It pays where rounding or noise, not the curator's arithmetic,
limits what a query carries.
"""

from __future__ import annotations

import attrs

from labelinf_scores.attacks.block_attack import BlockAttack
from labelinf_scores.constructions.conway_guy import ConwayGuy
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["ConwayGuyWeights"]


@attrs.frozen(kw_only=True)
class ConwayGuyWeights(BlockAttack):
    """Recovers all labels of two classes with weights of distinct sums that are narrower than powers of two."""

    def codes(self, threat: ScoreThreat) -> tuple[Code, ...]:
        """Return powers of two, and Conway and Guy's weights for the units that only those reach."""
        return (Superincreasing(n_classes=2), ConwayGuy(table_rows=4), ConwayGuy())

    def unfit(self, threat: ScoreThreat) -> str:
        """Two classes only."""
        return "" if threat.n_classes == 2 else "needs two classes"
