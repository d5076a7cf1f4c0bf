"""The snapping mechanism: Laplace noise whose low bits are rounded away (Mironov, CCS 2012).

The low bits of a double give naive Laplace noise away. Snapping clamps the score, adds noise drawn over all doubles,
and rounds the sum to a power of two no smaller than the scale. Through diffprivlib, one draw a query.

It carries no certificate: the proof asks for a correctly rounded logarithm, and diffprivlib draws with NumPy's, of
which nobody has proved that.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_scores.defences.calibration import finite_sensitivity
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Moved, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Snapping"]


@attrs.frozen(kw_only=True)
class Snapping(ScoreDefence):
    """Answers by the snapping mechanism.

    Stage: the answer. Guarantee: none, since the proof asks for a correctly rounded logarithm, which diffprivlib does
    not have; calibrated as for pure label-DP with ``epsilon``. Utility: like Laplace noise, and rounding to about its
    scale.

    Attributes:
        epsilon: Label-DP that one answer is meant to have, more than 0.
        highest: Scores are clamped to [0, highest], more than 0.
        sensitivity: How far one label moves the score; 0: found from the stages nearer to the scorer.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    highest: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))
    sensitivity: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that snaps."""
        from diffprivlib.mechanisms import Snapping as Mechanism

        return _Snapping(
            Mechanism(
                epsilon=self.epsilon,
                sensitivity=self._calibrated(threat),
                lower=0.0,
                upper=self.highest,
                random_state=int(rng.integers(2**31)),
            )
        )

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Answers moved in an unknown way; by the Laplace scale and a rounding step of at most twice that on average.

        Raises:
            InputError: The loss is not clipped, so that no finite scale will do.
        """
        scale = self._calibrated(threat) / self.epsilon
        return (Moved(bound=math.inf, std=scale * math.sqrt(2 + 4 / 12), fresh=True),)

    def _calibrated(self, threat: ScoreThreat) -> float:
        needed = finite_sensitivity(threat, "Laplace")
        if 0 < self.sensitivity < needed:
            raise InputError(
                f"snapping with sensitivity={self.sensitivity:g} is not private: one label moves the score by "
                f"{needed:g} here; leave sensitivity out to have it found."
            )
        return self.sensitivity or needed


class _Snapping(ActiveScoreDefence):
    def __init__(self, mechanism: Any) -> None:
        self._mechanism = mechanism

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        return float(self._mechanism.randomise(float(ask(labels, attrs.evolve(query, precision=None)))))
