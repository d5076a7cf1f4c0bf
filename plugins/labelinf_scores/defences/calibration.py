"""What the calibrated noise defences share: the sensitivity they need, and the budget that answers share."""

from __future__ import annotations

import abc
import math

import numpy as np

from labelinf_core.contracts.errors import UnfitError
from labelinf_privacy.noise.grid import GridNoise
from labelinf_scores.defences.score_noise import ScoreNoise
from labelinf_scores.game.curator import ActiveScoreDefence, ScoreDefence
from labelinf_scores.game.effects import Added, Budgeted, ScoreEffect
from labelinf_scores.game.facts import ScoreFacts
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["CalibratedNoise", "finite_sensitivity"]

_SOME_CLIP = 0.01


def finite_sensitivity(threat: ScoreThreat, noise: str) -> float:
    """Return how far one label moves the score as computed; behind unknown stages, how far it would without them.

    Raises:
        UnfitError: Without limit: the loss is not clipped, or answers depend on earlier ones.
    """
    facts: ScoreFacts = threat.optimistic.facts
    if math.isinf(facts.jump):
        raise UnfitError(
            f"{noise} noise is not private behind a stage by which one label can move an answer without limit "
            f"(ladder, thresholdout, snapping, or noise of your scorer's own); put it nearer to the scorer than that."
        )
    if math.isinf(facts.sensitivity):
        raise UnfitError(_unbounded(threat, noise))
    # Where nobody bounds the errors of the arithmetic, noise is calibrated without them, and certifies nothing.
    computed = facts.computed_apart(facts.magnification, facts.jump)
    return computed if math.isfinite(computed) else facts.sensitivity


def _unbounded(threat: ScoreThreat, noise: str) -> str:
    """Say why one label may move a score without limit, and what to do about it."""
    metric = threat.metric
    if metric is not None and math.isfinite(metric.sensitivity(threat.n_records)):
        return (
            f"no {noise} scale is known to give label-DP: {type(metric).__name__} was seen to move further than by the "
            f"sensitivity that it states."
        )
    if metric is None or math.isfinite(metric.within(_SOME_CLIP).sensitivity(threat.n_records)):
        return (
            f"no finite {noise} scale gives label-DP while the loss is unclipped; "
            f"put clip(epsilon=...) nearer to the scorer."
        )
    if math.isinf(threat.facts.highest) and math.isfinite(metric.moved(threat.n_records, 1.0)):
        return (
            f"no finite {noise} scale gives label-DP while predictions have no bound, next to which a label may count "
            f"for any amount; put confine nearer to the scorer."
        )
    return (
        f"no {noise} scale is known to give label-DP: nobody has proved by how much one label moves "
        f"{type(metric).__name__} at most."
    )


class CalibratedNoise(ScoreDefence):
    """Score noise of the scale that label-DP asks for, and the budget that ``queries`` answers share."""

    epsilon: float
    delta: float = 0.0
    queries: int

    @abc.abstractmethod
    def model(self, threat: ScoreThreat) -> GridNoise:
        """Return the noise, calibrated to the span of the stages nearer to the scorer.

        Raises:
            UnfitError: The loss is not clipped, so that no finite scale will do.
        """

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The calibrated noise is what is public; see :meth:`model`."""
        noise = Added(model=self.model(threat))
        if not self.queries:
            return (noise,)
        return (noise, Budgeted(queries=self.queries, shared=True, epsilon=self.epsilon, delta=self.delta))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that adds the calibrated noise."""
        return ScoreNoise(model=self.model(threat)).start(threat, rng)
