"""Laplace noise calibrated to a label-DP budget: scale = L / (N epsilon) for one answer, q times that for q of them."""

from __future__ import annotations

import attrs

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.noise.grid import fine_step
from labelinf_privacy.noise.grid_laplace import GridLaplace
from labelinf_scores.defences.calibration import CalibratedNoise, finite_sensitivity
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["LaplaceDp"]


@attrs.frozen(kw_only=True)
class LaplaceDp(CalibratedNoise):
    """Score noise of the Laplace scale that label-DP asks for.

    Stage: the answer; it stands for ``score-noise(model=grid-laplace(...))``. Guarantee: pure label-DP with
    ``epsilon``. Utility: a mean error of the scale.

    Attributes:
        epsilon: Label-DP of one answer, or of ``queries`` of them together; more than 0.
        queries: Answers that share ``epsilon``, and that are then granted; 0: epsilon is that of each.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    queries: int = attrs.field(default=0, validator=attrs.validators.ge(0))

    def model(self, threat: ScoreThreat) -> GridLaplace:
        """Calibrate to the span of the stages nearer to the scorer."""
        distance = finite_sensitivity(threat, "Laplace")
        step = fine_step(distance)
        grid = GridLaplace(scale=step, step=step)
        moved = float(grid.moved(distance)) * grid.step
        return attrs.evolve(grid, scale=max(1, self.queries) * moved / self.epsilon)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """Epsilon of the whole query budget."""
        queries = getattr(threat, "query_budget", None) or 0
        if not queries:
            return ()
        return (
            TunableParameter(
                title=f"Laplace noise, label-DP epsilon of all {queries} answers",
                template=f"laplace-dp(epsilon={{}}, queries={queries})",
                weakest=1e6,
                strongest=1e-3,
            ),
        )
