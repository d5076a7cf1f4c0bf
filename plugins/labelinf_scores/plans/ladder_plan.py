"""How a Ladder is descended: how many labels a query carries, and how far down that goes."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.certificates.error import present_error
from labelinf_scores.game.oracle import needed_queries
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.plans.ladder_offsets import CountedOffset, FreeOffset, Offset

__all__ = ["SAFE", "LadderPlan"]

SAFE = 0.1  #: of a step: errors of a score that are survived, and how far below an answer the next query starts
_MOST_LABELLINGS = 2**14  # of one query: they are listed
_SPACING = 1 + 2.0**-16  # of neighbouring rungs, in steps: never less than one
_WIDEST_EDGE = 0.8  # of a step: a label on the lower side of the edge costs one rung
_OF_THE_SPAN = 1 / 8  # a common row needs the rest


@attrs.frozen(kw_only=True)
class LadderPlan:
    """One way to descend.

    Attributes:
        threat: What is public.
        offset: Puts scores where they are wanted.
        n_labels: m, labels read from one answer by its rung; 0 when one label is read by whether there is an answer.
    """

    threat: ScoreThreat
    offset: Offset
    n_labels: int

    @classmethod
    def choose(cls, threat: ScoreThreat, *, proper: bool) -> LadderPlan:
        """Take the most labels a query for which there are rungs enough whatever the labels, and else the edge.

        Args:
            threat: What is public.
            proper: Whether rows must sum to one.
        """
        offset = CountedOffset(threat=threat) if proper else FreeOffset(threat=threat)
        most = min(threat.n_records, int(math.log(_MOST_LABELLINGS, threat.n_classes)))
        plans = [cls(threat=threat, offset=offset, n_labels=m) for m in range(most, -1, -1)]
        possible = [plan for plan in plans if plan.is_possible]
        return next((plan for plan in possible if plan.is_long_enough), (possible or plans)[-1])

    @property
    def step(self) -> float:
        """Of the Ladder, in units of the score."""
        return self.threat.ladder_step

    @property
    def queries(self) -> int:
        """Queries to read every record at the most; the edge needs an answer to begin with."""
        return needed_queries(self.threat.n_records, max(1, self.n_labels)) + (self.n_labels == 0)

    def weights(self, n_unread: int) -> NDArray[np.float64]:
        """Return how much the next label costs more for every record of a block."""
        if self.n_labels:
            powers = float(self.threat.n_classes) ** np.arange(min(self.n_labels, n_unread))
            return np.asarray(self.threat.n_records * self.step * _SPACING * powers)
        edge = min(_WIDEST_EDGE * self.threat.n_records * self.step, _OF_THE_SPAN * self.offset.span)
        return np.array([edge if self.falling == 0 else -edge])

    @property
    def falling(self) -> int:
        """The class on the lower side of the edge: the rarer one, so that few answers fall."""
        return int(self.offset.counts[1] < self.offset.counts[0])

    @property
    def widest(self) -> float:
        """The widest gap of a block."""
        return float(np.abs(self.weights(self.threat.n_records)).max()) * (self.threat.n_classes - 1)

    @property
    def error(self) -> float:
        """Largest error of a score before and after the Ladder, by its arithmetic and by all other stages."""
        return present_error(self.threat.beside_ladder, self.offset.surest + self.offset.span)

    @property
    def survives(self) -> float:
        """Largest error of a score under which every answer is read right."""
        return SAFE * self.step if self.n_labels else SAFE * self.widest / self.threat.n_records

    @property
    def is_possible(self) -> bool:
        """Whether the gaps exist, and are wider than the error."""
        if self.error >= self.survives or not self.offset.span:
            return False
        if self.n_labels == 0:
            return self.threat.n_classes == 2
        # Where a query asks about every record there is nothing left to align it by.
        aligned = self.n_labels < self.threat.n_records or self.offset.surest < SAFE * self.step
        return aligned and self.widest <= self.offset.span

    @property
    def is_long_enough(self) -> bool:
        """Whether there are rungs enough whatever the labels."""
        if self.n_labels and self.queries == 1:
            return True
        per_query = self.threat.n_classes**self.n_labels * _SPACING + 1 + 2 * SAFE
        rungs = self.queries * per_query if self.n_labels else float(self.offset.counts.min()) + 4
        return rungs * self.step <= self.offset.room(self.widest, self.n_labels)
