"""Algorithms 1 and 2 of Wang et al., ICLR 2024, with the constants of Appendix E and of the published code.

L-BFGS from +1, then from -1, up to 100 steps each; only when both give up, particle swarms in growing boxes on both
sides. A wrong minimum that L-BFGS accepts is therefore never corrected, and values beyond the boxes are never found:
both happen on well-trained networks (see :mod:`labelinf_gradients.recovery.solver` for what replaces it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from labelinf_papers.search.secant import Secant
from labelinf_papers.search.swarm import swarm

if TYPE_CHECKING:
    from labelinf_papers.search.loss import LabelLoss

__all__ = ["Found", "search"]

_ENOUGH = 1e-9  # of the magnified loss
_BOUND = 100.0
_STEPS = 100  # of L-BFGS on each side
_FLAT = 1e-7  # slope below which L-BFGS would not move
_BOXES = ((0.7, 6.0), (5.7, 10.0), (9.7, 30.0), (29.7, 50.0))


@attrs.frozen(kw_only=True)
class Found:
    """What the search returned.

    Attributes:
        scalar: ``lambda``; NaN when it gave up.
        loss: The magnified loss there.
        by: ``"l-bfgs"``, ``"swarm"`` or ``""``.
        evaluations: How often the loss was computed.
    """

    scalar: float
    loss: float
    by: str
    evaluations: int


@attrs.define
class _Counted:
    loss: LabelLoss
    evaluations: int = 0

    def at(self, scalar: float) -> tuple[float, float]:
        self.evaluations += 1
        value, slope = self.loss.with_slope(np.array([scalar]))
        return float(value[0]), float(slope[0])

    def many(
        self, scalars: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        self.evaluations += len(scalars)
        return self.loss.value(scalars)


def search(
    loss: LabelLoss, rng: np.random.Generator, *, population: int = 500, iterations: int = 40, gradient: bool = True
) -> Found:
    """Search for the scalar of one gradient.

    Args:
        loss: Its label loss.
        rng: Randomness of the swarm.
        population: Particles per swarm; 500 for the paper's main tables, 200 by its default.
        iterations: Moves per swarm; 40 and 30.
        gradient: Whether L-BFGS is tried first; the noise study does not.
    """
    counted = _Counted(loss)
    for start in (1.0, -1.0) if gradient else ():
        scalar, value = _descend(counted, start)
        if value < _ENOUGH:
            return Found(scalar=scalar, loss=value, by="l-bfgs", evaluations=counted.evaluations)
    for low, high in _BOXES:
        for side in ((low, high), (-high, -low)):
            scalar, value = swarm(counted.many, *side, rng, population=population, iterations=iterations)
            if value < _ENOUGH:
                return Found(scalar=scalar, loss=value, by="swarm", evaluations=counted.evaluations)
    return Found(scalar=float("nan"), loss=float("inf"), by="", evaluations=counted.evaluations)


def _descend(counted: _Counted, start: float) -> tuple[float, float]:
    """Run L-BFGS from one side; where the loss is flat and high, jump outwards by half a power of two."""
    optimiser, jump = Secant(at=start), 0.5
    for _ in range(_STEPS):
        value, slope = counted.at(optimiser.at)
        if value < _ENOUGH or not np.isfinite(value) or abs(optimiser.at) > _BOUND:
            break
        if abs(slope) < _FLAT:
            optimiser = Secant(at=optimiser.at + np.copysign(jump, start))
            jump *= 2
            continue
        optimiser.step(counted.at)
    value = counted.at(optimiser.at)[0]
    return optimiser.at, value if np.isfinite(value) and abs(optimiser.at) <= _BOUND else float("inf")
