"""A detecting matrix: half as many labels per query as the logarithm of their number, at the noise one label survives.

Every query pushes many records up or down, each by all that the clip allows, and the sums over 2**k queries name
(k + 2) 2**(k-1) labels (D. G. Cantor and W. H. Mills, *Canadian Journal of Mathematics* 18, 1966). Neighbouring sums
are as far apart as the two labels of a single record, so that the noise survived is that of one label per query, the
most that any attack survives: noise of L / (2N) or more hides a record for ever (labelinf theory, worst-case noise).

Formal guarantee: all labels of two classes in about ``2 N / log2 N`` queries while every score is within
tau < L / (2N). Held by ``tests/scores/blocks/test_detecting.py``.

Example::

    labelinf attack detecting-matrix --labels breast-cancer --defence 'round(decimals=3)'
"""

from __future__ import annotations

import attrs

from labelinf_core.channels.score import ScoreThreat
from labelinf_scores.attacks.detecting_attack import DetectingAttack
from labelinf_scores.attacks.detecting_plan import DetectingPlan

__all__ = ["DetectingMatrixAttack"]


@attrs.frozen(kw_only=True)
class DetectingMatrixAttack(DetectingAttack):
    """Recovers all labels of two classes from sums by the rows of detecting matrices."""

    def plan(self, threat: ScoreThreat) -> DetectingPlan:
        """Return a plan in which every gap is the widest."""
        return DetectingPlan(threat=threat, n_private=0)
