"""Binary weights on rows that do not sum to one: what a scorer gives away that only warns about them.

scikit-learn scores such rows as they are. A row of ones then costs next to nothing whatever its label, so that nothing
but the block's own rows enters the sum, and its last place is as fine as can be.
"""

from __future__ import annotations

import attrs

from labelinf_scores.attacks.block_attack import BlockAttack
from labelinf_scores.constructions.rows import computes_as_it_reads
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["UnnormalisedWeights"]


@attrs.frozen(kw_only=True)
class UnnormalisedWeights(BlockAttack):
    """Recovers all labels through rows that need not sum to one."""

    proper = False

    def codes(self, threat: ScoreThreat) -> tuple[Code, ...]:
        """Return powers of K."""
        return (Superincreasing(n_classes=threat.n_classes),)

    def unfit(self, threat: ScoreThreat) -> str:
        """The curator must score rows as they are, by the log-loss."""
        if threat.normalised:
            return "rows must sum to one"
        if not threat.loss.is_log_loss:
            return "needs the log-loss of probabilities"
        return "" if computes_as_it_reads(threat) else "needs a curator that reads and computes in one float format"
