"""Releasing coarse entries: signs, or a few bits. None certifies anything."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.effects import EntriesRounded
from labelinf_gradients.game.gradient import ActiveGradientDefence, GradientDefence, GradientThreat, Layout

__all__ = ["Quantise", "Sign"]


@attrs.frozen(kw_only=True)
class Sign(GradientDefence):
    """Releases signs only (signSGD, Bernstein et al., 2018)."""

    def effects(self, threat: ThreatModel) -> tuple[EntriesRounded]:
        """Say that entries are rounded."""
        return (EntriesRounded(),)

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Take signs."""
        return np.sign(gradient)


@attrs.frozen(kw_only=True)
class Quantise(GradientDefence):
    """Rounds entries to ``2^bits - 1`` levels up to the tensor's largest (QSGD, Alistarh et al., 2017).

    Attributes:
        bits: Bits per entry, 2 to 16.
        stochastic: Round up or down at random, so that the mean stays right, instead of to the nearest level.
    """

    bits: int = attrs.field(default=4, validator=[attrs.validators.ge(2), attrs.validators.le(16)])
    stochastic: bool = False

    def effects(self, threat: ThreatModel) -> tuple[EntriesRounded]:
        """Say that entries are rounded."""
        return (EntriesRounded(),)

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        """Return what rounds."""
        return _Quantised(2 ** (self.bits - 1) - 1, rng if self.stochastic else None)


class _Quantised(ActiveGradientDefence):
    def __init__(self, levels: int, rng: np.random.Generator | None) -> None:
        self._levels, self._rng = levels, rng

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        result = np.zeros_like(gradient)
        for part in layout:
            step = np.abs(gradient[part]).max(initial=0.0) / self._levels
            if step > 0:
                shift = 0.5 if self._rng is None else self._rng.random(gradient[part].size)
                result[part] = np.floor(gradient[part] / step + shift) * step
        return result
