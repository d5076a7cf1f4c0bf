"""Noise that makes a released number differentially private, and how private.

Bounded noise never does: where the supports of two neighbouring answers differ, an answer names its data set.
"""

from __future__ import annotations

import math

from labelinf_core.contracts.components import NoiseModel

__all__ = ["PrivateNoise"]


class PrivateNoise(NoiseModel):
    """Additive noise with a label-DP guarantee for one answer.

    Formal guarantees hold for real arithmetic: the low bits of a double can give away more (Mironov, CCS 2012).
    """

    @property
    def grid(self) -> float:
        """Step that scores must be multiples of for the guarantee to hold; 0: it holds for all scores."""
        return 0.0

    def holds_on(self, step: float) -> bool:
        """Whether the guarantee holds for scores that are multiples of ``step`` (0 and infinity: any scores)."""
        if self.grid == 0:
            return True
        ratio = step / self.grid
        return 0.5 < ratio < math.inf and abs(ratio - round(ratio)) <= 1e-9 * ratio

    def pure_epsilon(self, sensitivity: float) -> float:
        """Return the epsilon of pure DP of one answer that a record can move by ``sensitivity``; infinity: none."""
        return math.inf

    def gaussian_mu(self, sensitivity: float) -> float:
        """Return the mu of Gaussian DP of one such answer (Dong, Roth and Su, JRSS B 2022); infinity: none."""
        return math.inf
