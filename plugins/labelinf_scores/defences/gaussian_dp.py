"""Gaussian noise calibrated to (epsilon, delta)-label-DP, by the analytic formula (Balle and Wang, ICML 2018).

q answers of mu-Gaussian DP are ``mu sqrt(q)``: calibrated together, q answers need ``sqrt(q)`` times the noise of one,
where basic composition of Laplace noise needs q times.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.statistics.profiles import gaussian_mu
from labelinf_privacy.noise.grid import fine_step
from labelinf_privacy.noise.grid_gaussian import GridGaussian
from labelinf_scores.defences.calibration import CalibratedNoise, finite_sensitivity
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["GaussianDp"]


@attrs.frozen(kw_only=True)
class GaussianDp(CalibratedNoise):
    """Score noise of the Gaussian scale that label-DP asks for.

    Stage: the answer; it stands for ``score-noise(model=grid-gaussian(...))``. Guarantee:
    (``epsilon``, ``delta``)-label-DP. Utility: a standard error of the scale.

    Attributes:
        epsilon: Of one answer, or of ``queries`` of them together; more than 0.
        delta: The delta that goes with it, in (0, 1).
        queries: Answers that share the budget, and that are then granted; 0: the budget is that of each.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    delta: float = attrs.field(default=1e-6, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    queries: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def model(self, threat: ScoreThreat) -> GridGaussian:
        """Calibrate to the span of the stages nearer to the scorer."""
        distance = finite_sensitivity(threat, "Gaussian")
        step = fine_step(distance)
        grid = GridGaussian(scale=step, step=step)
        wider = math.sqrt(max(1, self.queries)) * float(grid.moved(distance)) * grid.step
        return attrs.evolve(grid, scale=wider / gaussian_mu(self.epsilon, self.delta))
