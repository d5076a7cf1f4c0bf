"""A minimum batch: a query must say something about many records, as every honest one does.

Attacks that read a few labels at a time put equal probabilities everywhere else. Refusing that makes them spread:
a query with every row at the same small gap already passes when the threshold is smaller than the gap.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.defences.detection import label_gaps
from labelinf_scores.defences.placing import need_costs
from labelinf_scores.game.curator import ActiveScoreDefence, Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import Refusing, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["MinimumBatch"]


@attrs.frozen(kw_only=True)
class MinimumBatch(ScoreDefence):
    """Refuses a query in which too few records have costs that depend on their label.

    Stage: the query. Guarantee: none; full-length queries such as Hadamard signs pass. Utility: a model that is
    undecided about most records is refused.

    Attributes:
        share: Least share of the records that a query must say something about, in (0, 1].
        gap: Difference of the costs of two labels that counts as saying something, at least 0.
    """

    share: float = attrs.field(default=0.5, validator=[attrs.validators.gt(0), attrs.validators.le(1)])
    gap: float = attrs.field(default=0.01, validator=attrs.validators.ge(0))

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveScoreDefence:
        """Return an active defence that counts the records a query speaks of."""
        return _Counting(self, threat)

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """A query may be declined for what it looks like.

        Raises:
            InputError: What is scored is no mean of costs.
        """
        need_costs(threat, "minimum-batch")
        return (Refusing(),)


class _Counting(ActiveScoreDefence):
    def __init__(self, limits: MinimumBatch, threat: ScoreThreat) -> None:
        self._limits = limits
        self._threat = threat

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        speaking = float((label_gaps(self._threat, query.predictions) > self._limits.gap).mean())
        if speaking < self._limits.share:
            raise QueryRefusedError(
                f"the query says something about {speaking:.1%} of the records; at least {self._limits.share:.1%} are "
                f"needed."
            )
        return ask(labels, query)
