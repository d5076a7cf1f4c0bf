"""Releasing some entries only. None of these certifies anything: what remains still points away from the label."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.threat import ThreatModel
from labelinf_gradients.game.effects import Dropped
from labelinf_gradients.game.gradient import ActiveGradientDefence, GradientDefence, GradientThreat, Layout

__all__ = ["Prune", "RandomSparse", "TopK"]

_share = attrs.field(default=0.01, validator=[attrs.validators.gt(0), attrs.validators.le(1)])


class _Dropping(GradientDefence):
    def effects(self, threat: ThreatModel) -> tuple[Dropped]:
        """Say that entries are missing."""
        return (Dropped(),)


@attrs.frozen(kw_only=True)
class TopK(_Dropping):
    """Releases the largest entries of the whole gradient and zeros for the others (gradient compression).

    Attributes:
        share: Share of the entries that is kept, in (0, 1].
    """

    share: float = _share

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Drop small entries."""
        return _largest(gradient, (slice(0, gradient.size),), self.share)


@attrs.frozen(kw_only=True)
class Prune(_Dropping):
    """Sets the smallest entries of every parameter tensor to zero (Zhu et al., DLG, 2019, Section 5).

    Attributes:
        share: Share of each tensor's entries that is removed, in (0, 1].
    """

    share: float = attrs.field(default=0.9, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """Drop small entries."""
        return _largest(gradient, layout, 1 - self.share)


def _largest(gradient: NDArray[np.float64], parts: Layout, share: float) -> NDArray[np.float64]:
    """Return the largest entries of every part, and zeros for the others."""
    result = np.zeros_like(gradient)
    for part in parts:
        tensor = gradient[part]
        kept = np.argsort(-np.abs(tensor), kind="stable")[: max(1, round(share * tensor.size))]
        result[part][kept] = tensor[kept]
    return result


@attrs.frozen(kw_only=True)
class RandomSparse(_Dropping):
    """Releases a random part of the entries, drawn anew for every release.

    Attributes:
        share: Share of the entries that is kept, in (0, 1].
    """

    share: float = _share

    def start(self, threat: GradientThreat, rng: np.random.Generator) -> ActiveGradientDefence:
        """Return what drops random entries."""
        return _Random(self.share, rng)


class _Random(ActiveGradientDefence):
    def __init__(self, share: float, rng: np.random.Generator) -> None:
        self._share, self._rng = share, rng

    def release(self, gradient: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        kept = self._rng.permutation(gradient.size)[: max(1, round(self._share * gradient.size))]
        result = np.zeros_like(gradient)
        result[kept] = gradient[kept]
        return result
