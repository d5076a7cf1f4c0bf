"""LP-2ST: label privacy in two stages (Ghazi et al., NeurIPS 2021, Algorithm 4 with two stages)."""

from __future__ import annotations

import attrs

from labelinf_outputs.defences.lp_mst import LpMst

__all__ = ["Lp2st"]


@attrs.frozen(kw_only=True)
class Lp2st(LpMst):
    """Perturbs half of the labels blindly, and the other half with what that half taught.

    Attributes:
        epsilon: Of pure label-DP, at least 0.
        temperature: Of the first model's predictions before they serve as a prior, above 0.
    """

    stages: int = attrs.field(default=2, init=False)
