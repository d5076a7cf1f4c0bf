"""One query: of many submissions the one that tells most of a few records, and what it left of their labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.simulation.formats import SubmissionFormat
from labelinf_scores.simulation.knowledge import Knowledge
from labelinf_scores.simulation.simulator import Submission
from labelinf_scores.simulation.statistics import Hypotheses, Statistic, Told, Values, ranged, told

__all__ = ["LAST", "Bases", "Family", "QueryPlan", "asked", "planned", "weighed"]

LAST = -1  #: a base
_LISTED = 192  # hypotheses that are simulated one by one for a plan
_SUPPORTED = 1024  # where they are all that a statistic moves with
_NEAREST = 64  # hypotheses of an additive table that are simulated once more, each by itself
_APART = 8  # hypotheses that ranges are looked at of
_FEW = 24  # hypotheses that are simulated one by one rather than added up
_CHECKED = 8  # hypotheses that show whether a statistic is a sum
_SEEN = 4  # hypotheses of which two show that a statistic is not theirs alone
_SOME = 0.5  # of the submissions that move rows of a part of the records
_BITS = 0.05  # of a query that is worth asking


@attrs.frozen(kw_only=True)
class Family:
    """A way to write a submission.

    Attributes:
        base: Which of the bases stands at the records that are not asked about; LAST: what a board still remembers.
        kind: Which rows are given to those that are; "permuted": their own, in another order.
        known: What records get whose labels are known: the base's rows, rows of that kind, or their classes' own.
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
            for base, kind, known in itertools.product(bases, kinds, ("base", "kind", "class"))
        ]

    def written(self, family: Family, places: NDArray[np.intp], knowledge: Knowledge) -> Submission:
        """Write a submission of a family."""
        rng = knowledge.rng
        submission = self.base(family, knowledge).copy()
        changed = np.concatenate([places, knowledge.known]) if family.known == "kind" else places
        if family.known == "class":
            own = np.array(self.format.constants[-knowledge.game.n_classes :])
            submission[knowledge.known] = own[knowledge.labels[knowledge.known] % len(own)]
        if family.kind == "permuted":
            submission[changed] = submission[rng.permutation(changed)]
        elif changed.size:
            submission[changed] = self.format.rows(family.kind, changed.size, rng)
        return submission


@attrs.frozen(kw_only=True, eq=False)
class QueryPlan:
    """A query that is worth asking.

    Attributes:
        told: What it tells.
        values: Its statistic in every hypothesis.
        added: Whether the values were added up from one record's each.
        wide: Whether it moves with other labels, so that the truth may be ruled out.
        family: How it was written.
        cost: Queries that it takes.
    """

    told: Told
    values: Values
    added: bool = False
    wide: bool = False
    family: Family
    cost: int
    bits: float

    @property
    def worth(self) -> float:
        """Bits a query; a base that is asked serves later queries, too, if its plan rests on nothing that is local."""
        return self.bits / (self.cost if self.wide else 1 + (self.cost - 1) / 2)


def planned(
    knowledge: Knowledge,
    bases: Bases,
    hypotheses: Hypotheses,
    family: Family,
    *,
    care: int,
    wide: bool = False,
) -> QueryPlan | None:
    """Return what a family's submission tells of the hypotheses; None where it tells nothing.

    Args:
        knowledge: What is known.
        bases: What submissions are written on.
        hypotheses: What is to be told apart.
        family: How to write it.
        care: Labellings of the rest that each hypothesis is tried on.
        wide: Whether the statistic may move with other labels, as long as hypotheses stay apart.
    """
    places, rng = hypotheses.places, knowledge.rng
    if len(places) > 1 and rng.random() < _SOME:  # what is half known is best asked about by itself
        places = rng.permutation(places)[: rng.integers(1, len(places))]
    submission = bases.written(family, places, knowledge)
    for beside in _beside(knowledge, bases, family):
        statistic = Statistic(submission=submission, beside=beside)
        plan = weighed(knowledge, statistic, hypotheses, family, care=care, wide=wide)
        if plan is not None:
            return plan if plan.bits >= _BITS else None
    return None


def weighed(
    knowledge: Knowledge,
    statistic: Statistic,
    hypotheses: Hypotheses,
    family: Family,
    *,
    care: int,
    wide: bool = False,
    among: int = 4,
) -> QueryPlan | None:
    """Return what one statistic tells of hypotheses, of which so many are tried; None where it is not theirs alone."""
    if wide:
        found = _spread(knowledge, statistic, hypotheses, care)
    else:
        found = _clean(knowledge, statistic, hypotheses, care, among)
    if found is None:
        return None
    clean, values, added = found
    cost = statistic.cost(knowledge)
    return QueryPlan(told=clean, values=values, added=added, wide=wide, family=family, cost=cost, bits=values.bits)


def _clean(
    knowledge: Knowledge, statistic: Statistic, hypotheses: Hypotheses, care: int, among: int
) -> tuple[Told, Values, bool] | None:
    if among <= _SEEN and told(knowledge, statistic, hypotheses, among=2, each=2) is None:
        return None
    clean = told(knowledge, statistic, hypotheses, among=among, each=care)
    found = None if clean is None else table(knowledge, clean, hypotheses, _LISTED if among <= _SEEN else _SUPPORTED)
    return None if clean is None or found is None else (clean, *found)


def _spread(
    knowledge: Knowledge, statistic: Statistic, hypotheses: Hypotheses, care: int
) -> tuple[Told, Values, bool] | None:
    if len(hypotheses) > _APART or ranged(knowledge, statistic, hypotheses, 2) is None:
        return None
    found = ranged(knowledge, statistic, hypotheses, 8 * care)
    return None if found is None else (*found, False)


def _beside(knowledge: Knowledge, bases: Bases, family: Family) -> Iterator[tuple[Submission, ...]]:
    """Yield what an answer may be set against, the cheapest to simulate first: nothing, the base."""
    yield ()
    base = bases.base(family, knowledge)
    if not (knowledge.game.remembers and knowledge.has(base)):  # asked before, it was not answered by the same board
        yield (base,)


def table(knowledge: Knowledge, clean: Told, hypotheses: Hypotheses, most: int) -> tuple[Values, bool] | None:
    """Return the statistic in every hypothesis, and whether it was added up; None where there are too many to list."""
    found = _summed(knowledge, clean, hypotheses) if len(hypotheses) > _FEW and hypotheses.counted is None else None
    if found is not None:
        return found, True
    most = max(most, 4 * (knowledge.game.n_records + 1)) if hypotheses.counted else most
    return None if len(hypotheses) > most else (_listed(knowledge, clean, hypotheses), False)


def _listed(knowledge: Knowledge, clean: Told, hypotheses: Hypotheses) -> Values:
    """Simulate every hypothesis; what cannot be is like nothing that is answered."""
    values = np.full((len(hypotheses), clean.clean.size), np.inf)
    for i in range(len(hypotheses)):
        value = hypotheses.value(knowledge, clean.statistic, i)
        if value is not None:
            values[i] = value
    return _exactly(values, clean, clean.off)


def _exactly(values: NDArray[np.float64], clean: Told, error: NDArray[np.float64]) -> Values:
    return Values(low=values[:, clean.clean], high=values[:, clean.clean], error=error[clean.clean])


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
    return _exactly(total, clean, error) if explained else None


def asked(knowledge: Knowledge, plan: QueryPlan, hypotheses: Hypotheses) -> Hypotheses:
    """Ask what is planned, and return the hypotheses that fit the answer; of ranges at least the nearest."""
    seen = plan.told.statistic.observed(knowledge)[plan.told.clean]
    if plan.wide:
        groups = plan.values.groups
        return hypotheses.kept(groups == groups[plan.values.nearest(seen)])
    left = hypotheses.kept(plan.values.fits(seen))
    rounded = bool((plan.values.error > 2 * plan.told.off[plan.told.clean]).any())
    if not (plan.added and rounded) or not 1 < len(left) <= _NEAREST:
        return left
    return left.kept(_listed(knowledge, plan.told, left).fits(seen))
