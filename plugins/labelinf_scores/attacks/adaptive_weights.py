"""Adaptive binary weights: records already decoded are set to their labels, so that later sums are finer.

A neutral row costs ln 2 whatever its label. A row that is set to the label it is known to have costs next to nothing,
so the sum shrinks from block to block, and with it the last place of the curator's floats.
"""

from __future__ import annotations

import attrs

from labelinf_scores.attacks.block_attack import BlockAttack
from labelinf_scores.constructions.rows import computes_as_it_reads
from labelinf_scores.constructions.weights import Code, Superincreasing
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["AdaptiveWeights"]


@attrs.frozen(kw_only=True)
class AdaptiveWeights(BlockAttack):
    """Recovers all labels with queries that build on the labels decoded before."""

    adaptive = True

    def codes(self, threat: ScoreThreat) -> tuple[Code, ...]:
        """Return powers of K."""
        return (Superincreasing(n_classes=threat.n_classes),)

    def unfit(self, threat: ScoreThreat) -> str:
        """Rows that are set to their labels are made for the log-loss in IEEE formats."""
        fits = threat.loss.is_log_loss and computes_as_it_reads(threat)
        return "" if fits else "needs the log-loss, read and computed in one of float64 and float32"
