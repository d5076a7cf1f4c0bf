"""Refuses prediction vectors that look like constructions: mostly silent, growing like powers, or all of one kind.

Where models are submitted, the curator holds what they predict against the features as well: an honest model does not
give two records that are nearly alike wildly different outputs, and one that is made to name records must.

A heuristic (labelinf theory, MutNet): it stops attacks as published, and teaches the next attacker what to avoid. Hard
0/1 predictions bear the mark of few different rows as well, and are refused along with Hadamard signs.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.defences.detection import label_gaps, outweighing_rows
from labelinf_scores.defences.placing import need_probabilities
from labelinf_scores.detector import detector
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Refusing, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["RefuseConstructions"]


@attrs.frozen(kw_only=True)
class RefuseConstructions(ScoreDefence):
    """Refuses queries that bear the mark of a construction.

    Stage: the query. Guarantee: none. Utility: hard predictions and undecided models are refused.

    Attributes:
        most_neutral: Largest share of rows that may give all classes the same probability, in [0, 1].
        fewest_distinct: Fewest different rows, at least 1.
        most_extreme: Largest share of rows that may be as certain as the most certain one, in [0, 1].
        outweighing: Rows that outweigh all smaller ones together from which on a query is refused, at least 2.
        most_steep: Largest change of a model's logit per standard deviation of the features, between a record and its
            nearest neighbour; only where models are submitted. Refuses 4 of 48
            honest models that it was not set on (``benchmarks/steepness.py``).
    """

    most_neutral: float = attrs.field(default=0.25, validator=[attrs.validators.ge(0), attrs.validators.le(1)])
    fewest_distinct: int = attrs.field(default=4, validator=attrs.validators.ge(1))
    most_extreme: float = attrs.field(default=0.9, validator=[attrs.validators.ge(0), attrs.validators.le(1)])
    outweighing: int = attrs.field(default=5, validator=attrs.validators.ge(2))
    most_steep: float = attrs.field(default=12.0, validator=attrs.validators.gt(0))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that looks for the marks."""
        return _Detecting(self, threat)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """A query may be declined for what it looks like.

        Raises:
            InputError: The loss does not take probabilities.
        """
        need_probabilities(threat, "refuse-constructions")
        return (Refusing(),)


class _Detecting(ActiveScoreDefence):
    def __init__(self, limits: RefuseConstructions, threat: ScoreThreat) -> None:
        self._limits = limits
        self._threat = threat

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        if reasons := self._reasons(query.predictions):
            raise QueryRefusedError(f"the query looks like an attack: {'; '.join(reasons)}.")
        return ask(labels, query)

    def _reasons(self, predictions: NDArray[np.generic]) -> tuple[str, ...]:
        limits, models = self._limits, self._threat.models
        neighbours = None if models is None else models.neighbours
        found = detector(np.asarray(predictions, dtype=np.float64), neighbours).reasons(
            most_neutral=limits.most_neutral,
            fewest_distinct=limits.fewest_distinct,
            most_extreme=limits.most_extreme,
            most_steep=limits.most_steep,
        )
        rows = outweighing_rows(label_gaps(self._threat, predictions))
        if rows < limits.outweighing:
            return found
        return (*found, f"{rows} rows outweigh all smaller ones together")
