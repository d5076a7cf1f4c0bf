"""Private records and a detecting matrix in the same query: the most labels from coarsely rounded scores.

A clip of span L and an error tau leave room for ``B = 1 + floor(log2(L / (2 N tau)))`` doublings. Powers of two spend
all of them on B records of one query. Here B - 1 records are private to a query, with the narrower gaps, and the
widest gap is shared: it pushes many records by the rows of a detecting matrix, which carries 1 + k/2 labels a query
instead of one (labelinf theory, hybrid of binary weights and detecting matrices). Below the shared gap nothing
overlaps, so that the private labels are the low bits of what is read and the sums the high ones.

Formal guarantee: every label of two classes in groups of ``2**k`` queries, each ``B - 1 + (k + 2) / 2`` labels, when
the certificate of every query holds. Held by ``tests/scores/blocks/test_hybrid.py``.

Example::

    labelinf attack hybrid --labels breast-cancer --defence 'round(decimals=4)'
"""

from __future__ import annotations

import attrs

from labelinf_core.channels.score import ScoreThreat
from labelinf_scores.attacks.detecting_attack import DetectingAttack
from labelinf_scores.attacks.detecting_plan import DetectingPlan

__all__ = ["Hybrid"]


@attrs.frozen(kw_only=True)
class Hybrid(DetectingAttack):
    """Recovers all labels of two classes; best where rounding or noise is what limits a query."""

    statement = "labelinf theory, hybrid of binary weights and detecting matrices"

    def plan(self, threat: ScoreThreat) -> DetectingPlan:
        """Return the plan with the most private records that is certified."""
        return DetectingPlan.largest(threat)
