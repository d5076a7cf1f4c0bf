"""Mixed radix: the labels of a block as the digits of one number, for any number of classes.

Row i costs ``k K**i`` units more for label k, so that the sum is a number whose base-K digits are the labels. The
range ``K**m - 1`` is the least that separates all labellings (labelinf theory, pigeonhole), where the printed
K-class weights (Aggarwal et al., AISTATS 2022, Theorem 3) range over ``2**(m K)``.
"""

from __future__ import annotations

import attrs

from labelinf_scores.attacks.block_attack import BlockAttack
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["MixedRadix"]


@attrs.frozen(kw_only=True)
class MixedRadix(BlockAttack):
    """Recovers all labels of K classes, about log2 K times fewer a query than of two."""

    def codes(self, threat: ScoreThreat) -> tuple[Code, ...]:
        """Return powers of K."""
        return (Superincreasing(n_classes=threat.n_classes),)
