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
from labelinf_scores.game.curator import ActiveDefence, Answer, Ask, Query, ScoreDefence
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

    def start(self, threat: ScoreThreat, rng: np.random.Generator) -> ActiveDefence:
        """Return an active defence that checks or renormalises rows."""
        return _Rejecting(self.tolerance) if self.action == RowAction.REJECT.value else _Renormalising()

    def does(self, threat: ScoreThreat) -> tuple[ScoreEffect, ...]:
        """Rows are normalised.

        Raises:
            InputError: The loss does not take probabilities.
        """
        need_probabilities(threat, "enforce-row-sums")
        return (RowSums(),)


class _Rejecting(ActiveDefence):
    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance

    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        if query.predictions.ndim == 2:
            with precise(query.predictions, query.precision):
                off = np.abs(query.predictions.sum(axis=1) - 1) > self._tolerance
            if off.any():
                row = int(np.argmax(off))
                raise QueryRefusedError(f"row {row} sums to {query.predictions[row].sum()}, expected 1.")
        return ask(labels, query)


class _Renormalising(ActiveDefence):
    def answer(self, labels: NDArray[np.intp], query: Query, ask: Ask) -> Answer:
        if query.predictions.ndim == 2:
            with precise(query.predictions, query.precision):
                sums = query.predictions.sum(axis=1, keepdims=True)
                if not (sums > 0).all():
                    raise QueryRefusedError(f"row {int(np.argmin(sums))} sums to 0, expected 1.")
                query = attrs.evolve(query, predictions=query.predictions / sums)
        return ask(labels, query)
