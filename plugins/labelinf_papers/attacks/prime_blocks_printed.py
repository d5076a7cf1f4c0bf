"""Algorithm 1 of Aggarwal et al., ICML 2021, with the number of labels per query that it prints.

Line 4 takes the largest m with ``p_m <= 2**((phi - 5) / 4)``. That keeps the *predictions* of FPA(phi) apart. The
answer also has to tell the products of m primes apart, after division by N, and cannot: at phi = 53 line 4 asks for
564 labels a query, while with N = m the answers are distinct up to 14 only (errata I-4, I-5). Kept as a baseline, so
that a matrix can show it.
"""

from __future__ import annotations

import math

import attrs

from labelinf_papers.attacks.prime_blocks import PrimeBlocks
from labelinf_papers.plans.prime_design import prime_queries
from labelinf_papers.plans.prime_query import ROUNDING, PrimeQuery
from labelinf_scores.arithmetic.formats import format_named
from labelinf_scores.constructions.primes import printed_block_size
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PrimeBlocksPrinted"]

_LEAST_BITS = 9  # Theorem 2: phi >= 9


@attrs.frozen(kw_only=True)
class PrimeBlocksPrinted(PrimeBlocks):
    """Algorithm 1 with m as printed, chosen from the bits of the curator's numbers alone."""

    size: int = attrs.field(default=0, init=False)
    classes: int = attrs.field(default=1, init=False)
    decoder: str = attrs.field(default=ROUNDING, init=False)

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """Algorithm 1 is for two classes and a bounded precision of nine bits at least."""
        if threat.n_classes != 2:
            return "Algorithm 1 is for two classes"
        if _phi(threat.arithmetic) < _LEAST_BITS:
            return "Algorithm 1 needs a bounded precision of at least 9 bits"
        return super().missing_requirement(threat)

    def _sized(self, threat: ScoreThreat, classes: int) -> list[PrimeQuery]:
        size = printed_block_size(_phi(threat.arithmetic), most=threat.n_records)
        return prime_queries(threat, size, classes=classes)


def _phi(arithmetic: str) -> int:
    """Bits of a number; 0 when there is no limit."""
    bits = format_named(arithmetic).bits
    return int(bits) if math.isfinite(bits) else 0
