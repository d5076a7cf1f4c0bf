"""What was simulated for some records, used again for others that can change places with them.

Where ``f(pi y, pi x) = f(y, x)`` for a permutation inside orbits, what a statistic is in every hypothesis about some
records it is in the same hypotheses about others, once their rows have changed places (universal.md, U1). So one table
serves all blocks of records that are alike. Orbits are found with distinct rows, and an order may break ties: a table
that is used again is simulated in a few hypotheses first.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.simulator import Submission
from labelinf_scores.simulation.statistics import Hypotheses, Statistic
from labelinf_scores.simulation.window import QueryPlan

__all__ = ["Template"]


@attrs.frozen(kw_only=True, eq=False)
class Template:
    """A plan for some records, to be used again for others of their orbits.

    Attributes:
        plan: What was simulated.
        hypotheses: What it tells apart.
        known: Records that were known then, whose labels the plan may rest on.
    """

    plan: QueryPlan
    hypotheses: Hypotheses
    known: NDArray[np.intp]

    def applied(self, knowledge: Knowledge, window: Hypotheses) -> QueryPlan | None:
        """Return the plan for records of a window drawn at random, known ones where it has too few; None without."""
        chosen = self._chosen(knowledge, window)
        if chosen is None:
            return None
        inside = {int(place): i for i, place in enumerate(window.places)}
        values = np.empty((len(window), chosen.size), dtype=np.intp)
        for slot, place in enumerate(chosen):
            values[:, slot] = window.values[:, inside[place]] if place in inside else knowledge.labels[place]
        rows = self._rows(values, knowledge.game.n_classes)
        if rows is None:
            return None
        order = self._order(knowledge, chosen)
        old = self.plan.told.statistic
        statistic = Statistic(
            submission=old.submission[order], beside=tuple(_unless_alike(one, one[order]) for one in old.beside)
        )
        told, table = attrs.evolve(self.plan.told, statistic=statistic), self.plan.values.kept(rows)
        cost = statistic.cost(knowledge)
        return attrs.evolve(self.plan, told=told, values=table, cost=cost, bits=table.bits)

    def _chosen(self, knowledge: Knowledge, window: Hypotheses) -> NDArray[np.intp] | None:
        """Return a record of the right orbit for every place of the plan."""
        rng, chosen = knowledge.rng, self.hypotheses.places.copy()
        mine = knowledge.orbit[chosen]
        for orbit in np.unique(mine):
            slots = np.flatnonzero(mine == orbit)
            own = rng.permutation(window.places[knowledge.orbit[window.places] == orbit])
            if own.size < slots.size:
                free = np.setdiff1d(np.flatnonzero(knowledge.orbit == orbit), self.known)
                own = np.concatenate([own, rng.permutation(np.intersect1d(free, knowledge.known))])
            if own.size < slots.size:
                return None
            chosen[slots] = own[: slots.size]
        return chosen

    def _rows(self, values: NDArray[np.intp], k: int) -> NDArray[np.intp] | None:
        """Return which of the plan's hypotheses these are; None where one is none of them."""
        powers = float(k) ** np.arange(values.shape[1])
        own, asked = self.hypotheses.values @ powers, values @ powers
        sorter = own.argsort()
        at = sorter[np.searchsorted(own, asked, sorter=sorter).clip(max=len(own) - 1)]
        return np.asarray(at) if np.array_equal(own[at], asked) else None

    def _order(self, knowledge: Knowledge, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return whose row each record gets: the chosen ones those of the plan's, and these what they left."""
        order = np.arange(knowledge.game.n_records)
        places = self.hypotheses.places
        order[chosen] = places
        left, gone = np.setdiff1d(places, chosen), np.setdiff1d(chosen, places)
        order[left[knowledge.orbit[left].argsort(kind="stable")]] = gone[knowledge.orbit[gone].argsort(kind="stable")]
        return order


def _unless_alike(one: Submission, other: Submission) -> Submission:
    return one if np.array_equal(one, other) else other


def holds(knowledge: Knowledge, plan: QueryPlan, window: Hypotheses, many: int) -> bool:
    """Whether so many hypotheses, simulated anew, are what the plan has them to be."""
    groups = plan.values.groups
    for i in knowledge.rng.integers(len(window), size=many):
        value = window.value(knowledge, plan.told.statistic, int(i))
        if value is None:
            continue
        seen = value[plan.told.clean]
        if not (groups[i] == groups[plan.values.nearest(seen)] if plan.wide else plan.values.fits(seen)[i]):
            return False
    return True
