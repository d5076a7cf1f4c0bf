"""Binary weights: as many labels per query as the curator's arithmetic, rounding or noise lets through, certified.

Two classes, rows of proper probabilities. The gaps are powers of two times a unit, and the number of labels per query
is the largest for which every labelling of the block is *proved* to be read right, through the curator's own number
format and order of additions. The papers take 5 labels per query from a float64 curator (Aggarwal et al., ICML 2021,
Table 2); this takes 42 to 50.

Example::

    labelinf attack binary-weights --labels breast-cancer
"""

from __future__ import annotations

import attrs

from labelinf_scores.attacks.block_attack import BlockAttack
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["BinaryWeights"]


@attrs.frozen(kw_only=True)
class BinaryWeights(BlockAttack):
    """Recovers all labels of two classes, 42 to 50 a query from a float64 curator."""

    def codes(self, threat: ScoreThreat) -> tuple[Code, ...]:
        """Return powers of two."""
        return (Superincreasing(n_classes=2),)

    def unfit(self, threat: ScoreThreat) -> str:
        """Two classes only."""
        return "" if threat.n_classes == 2 else "needs two classes; mixed-radix is for more"
