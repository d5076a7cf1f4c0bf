"""A total privacy budget: every answer is charged what its noise gives away, and none is granted beyond the total.

A limit on queries whose number follows from the noise: ``floor(epsilon / epsilon per answer)``. With sticky noise a
query that is asked again gives nothing new away; it is counted all the same.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.effects import Budgeted, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["PrivacyBudget"]


@attrs.frozen(kw_only=True)
class PrivacyBudget(ScoreDefence):
    """Grants as many answers as ``epsilon`` pays for, by basic composition.

    Stage: the query. Guarantee: pure label-DP with ``epsilon`` for the whole game. Utility: few answers.

    Attributes:
        epsilon: Label-DP of the whole game, more than 0.
    """

    epsilon: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """So many queries, and the guarantee of their sum.

        Raises:
            InputError: Nothing nearer to the scorer is purely private, or the budget does not pay for one answer.
        """
        price = threat.optimistic.facts.answer_price
        if math.isinf(price):
            raise InputError(
                "privacy-budget needs answers with pure label-DP; put clip(epsilon=...) and laplace-dp(epsilon=...) "
                "nearer to the scorer."
            )
        queries = math.floor(self.epsilon / price * (1 + 2.0**-50))
        if queries < 1:
            raise InputError(f"epsilon={self.epsilon} must pay for at least one answer, which costs {price:.4g}.")
        return (Budgeted(queries=queries, shared=True, epsilon=self.epsilon),)
