"""The detecting matrix: many records at full span in every query, for the coarsest scores.

It survives exactly the noise that one label per query survives, ``L / (2 N)``, and takes ``1 + log2(q) / 2`` times
fewer queries (Cantor and Mills 1966): the hybrid attack without private records.
"""

from __future__ import annotations

import attrs

from labelinf_scores.attacks.hybrid import Hybrid

__all__ = ["DetectingMatrix"]


@attrs.frozen(kw_only=True)
class DetectingMatrix(Hybrid):
    """Recovers all labels by weighing them all at once, again and again."""

    private: int = attrs.field(default=0, init=False)
