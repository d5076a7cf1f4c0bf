"""A limit on the number of queries. The oracle keeps count; this defence says how many there are."""

from __future__ import annotations

import attrs

from labelinf_core.contracts.components import TunableParameter
from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.curator import ScoreDefence
from labelinf_scores.game.effects import Budgeted, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["QueryLimit"]


@attrs.frozen(kw_only=True)
class QueryLimit(ScoreDefence):
    """Grants each participant at most ``queries`` scores.

    Stage: the query. Guarantee: none by itself (one exact score gives all labels away); with a limit on what one
    answer carries, a limit on them all. Participants who join forces pool their queries. Utility: honest ones need few.

    Attributes:
        queries: Scores granted, at least 1.
    """

    queries: int = attrs.field(default=100, validator=attrs.validators.ge(1))

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """The smaller of two budgets counts."""
        return (Budgeted(queries=self.queries),)

    @classmethod
    def tunable_parameters(cls, threat: ThreatModel) -> tuple[TunableParameter, ...]:
        """The number of queries."""
        most = getattr(threat, "query_budget", None) or threat.n_records
        return (
            TunableParameter(
                title="queries granted",
                template="query-limit(queries={})",
                weakest=most,
                strongest=1,
                integer=True,
            ),
        )
