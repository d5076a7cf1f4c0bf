"""Row sums: rows of predicted probabilities must sum to one before they are scored.

scikit-learn only warns. A row (1, 1) then costs nothing whatever the label, which hides rows from the rounding error
of a long sum and is worth an attacker one to seven labels a query (float64), two to nine (float32).
"""

from __future__ import annotations

import enum

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import QueryRefusedError
from labelinf_scores.defences.answers import precise
from labelinf_scores.defences.placing import need_probabilities
from labelinf_scores.game.curator import Answer, Ask, Query, ScoreDefence
from labelinf_scores.game.effects import RowSums, ScoreEffect
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["EnforceRowSums", "RowAction"]


class RowAction(enum.Enum):
    """What becomes of rows that do not sum to one."""

    REJECT = "reject"
    RENORMALISE = "renormalise"


@attrs.frozen(kw_only=True)
class EnforceRowSums(ScoreDefence):
    """Rejects or renormalises rows of probabilities that do not sum to one.

    Stage: the query; it belongs further from the scorer than ``clip``. Guarantee: none by itself. Utility: nothing is
    lost; single-precision probabilities sum to one within 1e-6.

    Attributes:
        action: ``"reject"`` the whole query, or ``"renormalise"`` its rows.
        tolerance: Largest deviation from one that is not rejected, in [0, 0.001]: with more, rows would not be what
            the threat model says, and a wide one is no defence.
    """

    action: str = attrs.field(default="renormalise", validator=attrs.validators.in_([item.value for item in RowAction]))
    tolerance: float = attrs.field(default=1e-6, validator=[attrs.validators.ge(0), attrs.validators.le(1e-3)])

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Rows are normalised.

        Raises:
            InputError: The loss does not take probabilities.
        """
        need_probabilities(threat, "enforce-row-sums")
        return (RowSums(),)

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        """Ask about rows that sum to one.

        Raises:
            QueryRefusedError: A row does not, and is rejected or cannot be renormalised.
        """
        if query.predictions.ndim != 2:
            return ask(labels, query)
        with precise(query.predictions, query.precision):
            sums = query.predictions.sum(axis=1, keepdims=True)
            rejects = self.action == RowAction.REJECT.value
            off = np.abs(sums - 1) > self.tolerance if rejects else np.logical_not(sums > 0)
            if off.any():
                row = int(np.argmax(off))
                raise QueryRefusedError(f"row {row} sums to {sums[row, 0]}, expected 1.")
            shares = query.predictions if rejects else query.predictions / sums
        return ask(labels, attrs.evolve(query, predictions=shares))
