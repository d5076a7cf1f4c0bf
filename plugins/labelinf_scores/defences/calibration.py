"""What the calibrated noise defences share: the sensitivity they need, and how they step aside for what they found.

A calibrated defence cannot know its scale before the stages nearer to the scorer are known. Once told, it puts the
concrete noise in its own place in the pipeline, so that the adversary, the bounds and the curator all see one scale.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.score import ScoreDefence, ScoreThreat

__all__ = ["budgeted", "finite_sensitivity", "granted", "resolve"]


def finite_sensitivity(threat: ScoreThreat, noise: str) -> float:
    """Return how far one label moves the score.

    Raises:
        InputError: Without limit: the loss is not clipped, or answers depend on earlier ones.
    """
    if math.isinf(threat.jump):
        raise InputError(f"{noise} noise is not private after a stage whose answers depend on earlier ones.")
    if math.isinf(threat.sensitivity):
        raise InputError(
            f"no finite {noise} scale gives label-DP while the loss is unclipped; "
            f"put clip(epsilon=...) nearer to the scorer."
        )
    return threat.sensitivity


def resolve(recipe: ScoreDefence, found: ScoreDefence, threat: ScoreThreat) -> ScoreThreat:
    """Return ``threat`` with ``found`` in the place of ``recipe``, and what ``found`` changes in it."""
    pipeline = tuple(found if item is recipe else item for item in threat.defences)
    return found.effect(attrs.evolve(threat, defences=pipeline))


def granted(threat: ScoreThreat, queries: int) -> int:
    """Return the smaller of two query budgets."""
    return queries if threat.query_budget is None else min(threat.query_budget, queries)


def budgeted(threat: ScoreThreat, queries: int, epsilon: float, delta: float = 0.0) -> ScoreThreat:
    """Return ``threat`` with at most ``queries`` answers, which together have the given label-DP."""
    shared = queries if threat.shared_budget is None else min(threat.shared_budget, queries)
    told = attrs.evolve(threat, query_budget=granted(threat, queries), shared_budget=shared)
    if epsilon <= threat.label_epsilon:
        return attrs.evolve(told, label_epsilon=epsilon, label_delta=delta)
    return told
