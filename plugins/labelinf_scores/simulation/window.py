"""One query: of many submissions the one that tells most of a few records, and what it left of their labels."""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.simulator import Submission
from labelinf_scores.simulation.statistics import Hypotheses, Statistic, Told, Values, told

__all__ = ["LAST", "Bases", "Family", "QueryPlan", "planned"]

LAST = -1  #: a base
_LISTED = 192  # hypotheses that are simulated one by one for a plan
_NEAREST = 64  # hypotheses of an additive table that are simulated once more, each by itself
_SURELY = 12  # hypotheses of a plan that are simulated anew before it is asked
_FEW = 24  # hypotheses that are simulated one by one rather than added up
_CHECKED = 8  # hypotheses that show whether a statistic is a sum
_SEEN = 4  # hypotheses that show whether a statistic is theirs alone
_SOME = 0.5  # of the submissions that move rows of a part of the records
_SELDOM = 0.1  # of the submissions, where nothing is known yet of any of them
_BITS = 0.05  # of a query that is worth asking


@attrs.frozen(kw_only=True)
class Family:
    """A way to write a submission.

    Attributes:
        base: Which of the bases stands at the records that are not asked about; LAST: what a board still remembers.
        kind: Which rows are given to those that are; "permuted": their own, in another order.
        known: What records get whose labels are known: the base's rows, their classes' own, or other classes'.
    """

    base: int
    kind: str
    known: str = "base"


@attrs.define(kw_only=True, eq=False)
class Bases:
    """Submissions in which all records are alike, or none are.

    Attributes:
        format: The rows.
        submissions: The bases.
        rank: Of every record in the last of them: neighbours are read together.
    """

    format: SubmissionFormat
    submissions: list[Submission]
    rank: NDArray[np.intp]

    @classmethod
    def of(cls, form: SubmissionFormat, n: int, rng: np.random.Generator) -> Bases:
        """Return all records alike, in every way that the format has, then none alike."""
        alike = [np.repeat(np.asarray(row)[None], n, axis=0) for row in form.constants]
        found = [*alike, form.spread(n, rng)]
        rank = np.argsort(np.argsort(found[-1].reshape(n, -1)[:, 0], kind="stable"))
        return cls(format=form, submissions=found, rank=rank)

    def base(self, family: Family, knowledge: Knowledge) -> Submission:
        """Return the submission that a family's are written on."""
        return knowledge.game.history[-1] if family.base == LAST else self.submissions[family.base]

    def families(self, knowledge: Knowledge) -> list[Family]:
        """Return all ways to write a submission."""
        bases = [*range(len(self.submissions)), *([LAST] if knowledge.game.history else [])]
        kinds = [*self.format.kinds, "permuted"]
        return [
            Family(base=base, kind=kind, known=known)
            for base, kind, known in itertools.product(bases, kinds, ("base", "class", "other"))
        ]

    def written(self, family: Family, places: NDArray[np.intp], knowledge: Knowledge) -> Submission:
        """Write a submission of a family."""
        rng = knowledge.rng
        submission = self.base(family, knowledge).copy()
        if family.known != "base":
            own = np.array(self.format.constants[-knowledge.game.n_classes :])
            submission[knowledge.known] = own[
                (knowledge.labels[knowledge.known] + (family.known == "other")) % len(own)
            ]
        if family.kind == "permuted":
            submission[places] = submission[rng.permutation(places)]
        elif places.size:
            submission[places] = self.format.rows(family.kind, places.size, rng)
        return submission


@attrs.frozen(kw_only=True, eq=False)
class QueryPlan:
    """A query whose answer shows what simulation has for some hypotheses, whatever the other labels are.

    Attributes:
        told: What it tells.
        values: Its statistic in every hypothesis.
        added: Whether the values were added up from one record's each.
        family: How it was written.
        cost: Queries that it takes.
        bits: What it tells of the hypotheses.
    """

    told: Told
    values: Values
    added: bool
    family: Family
    cost: int
    bits: float

    @property
    def worth(self) -> float:
        """Bits a query; a base that is asked serves later queries, too."""
        return self.bits / (1 + (self.cost - 1) / 2)

    def holds(self, knowledge: Knowledge, hypotheses: Hypotheses) -> bool:
        """Whether some hypotheses, simulated anew, are what the plan has them to be."""
        for i in knowledge.rng.integers(len(hypotheses), size=_SURELY):
            value = hypotheses.value(knowledge, self.told.statistic, int(i))
            if value is not None and not self.values.fits(value[self.told.clean])[i]:
                return False
        return True

    def asked(self, knowledge: Knowledge, hypotheses: Hypotheses) -> Hypotheses:
        """Ask, and return the hypotheses that fit the answer."""
        seen = self.told.statistic.observed(knowledge)[self.told.clean]
        left = hypotheses.kept(self.values.fits(seen))
        rounded = bool((self.values.error > 2 * self.told.off[self.told.clean]).any())
        if not (self.added and rounded) or not 1 < len(left) <= _NEAREST:
            return left
        return left.kept(_listed(knowledge, self.told, left).fits(seen))


def planned(
    knowledge: Knowledge, bases: Bases, hypotheses: Hypotheses, family: Family, *, care: int
) -> QueryPlan | None:
    """Return what a family's submission tells of the hypotheses; None where it tells nothing.

    Args:
        knowledge: What is known.
        bases: What submissions are written on.
        hypotheses: What is to be told apart.
        family: How to write it.
        care: Labellings of the rest that each hypothesis is tried on.
    """
    places, rng = hypotheses.places, knowledge.rng
    partly = len(hypotheses) < knowledge.game.n_classes ** len(places)
    if len(places) > 1 and rng.random() < (_SOME if partly else _SELDOM):  # what is half known is best asked by itself
        places = rng.permutation(places)[: rng.integers(1, len(places))]
    submission, base = bases.written(family, places, knowledge), bases.base(family, knowledge)
    asked = knowledge.game.remembers and knowledge.has(base)  # before: it was not answered by the same board
    for beside in [()] if asked else [(), (base,)]:
        statistic = Statistic(submission=submission, beside=beside)
        plan = _weighed(knowledge, statistic, hypotheses, family, care=care)
        if plan is not None:
            return plan if plan.bits >= _BITS else None
    return None


def _weighed(
    knowledge: Knowledge, statistic: Statistic, hypotheses: Hypotheses, family: Family, *, care: int
) -> QueryPlan | None:
    """Return what one statistic tells of hypotheses; None where it is not theirs alone."""
    if told(knowledge, statistic, hypotheses, among=2, each=2) is None:
        return None
    clean = told(knowledge, statistic, hypotheses, among=_SEEN, each=care)
    found = None if clean is None else _table(knowledge, clean, hypotheses)
    if clean is None or found is None:
        return None
    values, added = found
    cost = statistic.cost(knowledge)
    return QueryPlan(told=clean, values=values, added=added, family=family, cost=cost, bits=values.bits)


def _table(knowledge: Knowledge, clean: Told, hypotheses: Hypotheses) -> tuple[Values, bool] | None:
    """Return the statistic in every hypothesis, and whether it was added up; None where there are too many to list."""
    found = _summed(knowledge, clean, hypotheses) if len(hypotheses) > _FEW and hypotheses.counted is None else None
    if found is not None:
        return found, True
    if len(hypotheses) > _LISTED:  # so many are simulated for a class count only, and where a few tell much
        sample = np.isin(np.arange(len(hypotheses)), knowledge.rng.permutation(len(hypotheses))[:_FEW])
        listable = hypotheses.counted and len(hypotheses) <= 4 * (knowledge.game.n_records + 1)
        if not listable or _listed(knowledge, clean, hypotheses.kept(sample)).bits < math.log2(_FEW) / 2:
            return None
    return _listed(knowledge, clean, hypotheses), False


def _listed(knowledge: Knowledge, clean: Told, hypotheses: Hypotheses) -> Values:
    """Simulate every hypothesis; what cannot be is like nothing that is answered."""
    values = np.full((len(hypotheses), clean.clean.size), np.inf)
    for i in range(len(hypotheses)):
        value = hypotheses.value(knowledge, clean.statistic, i)
        if value is not None:
            values[i] = value
    return Values(each=values[:, clean.clean], error=clean.off[clean.clean])


def _summed(knowledge: Knowledge, clean: Told, hypotheses: Hypotheses) -> Values | None:
    """Add up what each record does by itself, fitted to some hypotheses; None where others are off by more."""
    values, k = hypotheses.values, knowledge.game.n_classes
    step = np.broadcast_to(knowledge.step, clean.off.shape)
    flags = (values[:, :, None] == np.arange(1, k)).reshape(len(values), -1)
    design = np.column_stack([np.ones(len(values)), flags]).astype(np.float64)
    if design.shape[1] + 2 * _CHECKED >= len(values):
        return None
    # One with each record in each class, so that no record's part is a guess, and as many more.
    order = knowledge.rng.permutation(len(values))
    chosen = np.concatenate([order[design[order].argmax(axis=0)], order[-design.shape[1] - 2 * _CHECKED :]])
    simulated = [hypotheses.value(knowledge, clean.statistic, i) for i in chosen]
    if any(value is None for value in simulated):
        return None
    seen = np.array(simulated)
    fitted, checked = chosen[:-_CHECKED], chosen[-_CHECKED:]
    effects = np.linalg.lstsq(design[fitted], seen[:-_CHECKED], rcond=None)[0]
    total = design @ effects
    error = 2 * np.abs(total[checked] - seen[-_CHECKED:]).max(axis=0) + step / 2 + clean.off
    explained = (error <= 2 * clean.off + 4 * step)[clean.clean].all()
    return Values(each=total[:, clean.clean], error=error[clean.clean]) if explained else None
