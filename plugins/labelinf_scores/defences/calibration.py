"""What the calibrated noise defences share: the sensitivity they need."""

from __future__ import annotations

import math

from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["finite_sensitivity"]


def finite_sensitivity(threat: ScoreThreat, noise: str) -> float:
    """Return how far one label moves the score as computed; behind unknown stages, how far it would without them.

    Raises:
        InputError: Without limit: the loss is not clipped, or answers depend on earlier ones.
    """
    facts = threat.supposed.facts
    if math.isinf(facts.jump):
        raise InputError(f"{noise} noise is not private after a stage whose answers depend on earlier ones.")
    if math.isinf(facts.sensitivity):
        raise InputError(
            f"no finite {noise} scale gives label-DP while the loss is unclipped; "
            f"put clip(epsilon=...) nearer to the scorer."
        )
    # Where nobody bounds the errors of the arithmetic, noise is calibrated without them, and certifies nothing.
    computed = facts.computed_apart(facts.magnification, facts.jump)
    return computed if math.isfinite(computed) else facts.sensitivity
