"""From a run record to results: every cell's proportions with their intervals, and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from labelinf_core.contracts.components import Measure
from labelinf_core.contracts.guarantees import Ceiling, Interval, Verdict, judge, left_to_gain
from labelinf_core.evaluator import alarms, placebo
from labelinf_core.evaluator.cells import Cell, LabelFacts, Plan
from labelinf_core.evaluator.choice import AttackSelection, choose
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.store import Provenance, Store
from labelinf_core.evaluator.tally import PlayedTrials, Tally, tallied
from labelinf_core.specs import parse
from labelinf_core.statistics import proportions

__all__ = ["CellResult", "Results", "result_of", "summarise", "worst"]


@attrs.frozen(kw_only=True)
class CellResult:
    """What came of one cell.

    Attributes:
        cell: The cell.
        labels: The label set it was played on.
        implied: What was known before.
        tally: What is counted of its trials.
        trials: The trials that count, failed ones included; those of a kept run are read when looked at.
        accuracy: Share of labels guessed correctly, over the trials that were played to the end; None without any.
        exact: Share of those trials in which every label was recovered.
        verdict: Observed against implied.
        measures: What the channel measures beside the share of labels.
        field: Of how many attacks this one is among the strongest; None for a cell that is played alone.
    """

    cell: Cell
    labels: LabelFacts
    implied: Implied
    tally: Tally
    trials: Sequence[Trial] = attrs.field(eq=False, repr=False)
    accuracy: Interval | None
    exact: Interval | None
    verdict: Verdict
    measures: tuple[Measure, ...] = ()
    field: AttackSelection | None = None

    @property
    def failure(self) -> tuple[Status, str] | None:
        """What went wrong first, if anything did: in preparation or in a trial."""
        if self.implied.status is not Status.OK:
            return self.implied.status, self.implied.message
        return self.tally.failure

    @property
    def doubt(self) -> str:
        """Why what was played shows nothing, as a clause; empty: it does, or something came out all the same."""
        return self.tally.doubt if self.verdict is Verdict.UNTESTED else ""

    @property
    def ceiling(self) -> Ceiling | None:
        """The lowest ceiling, its allowance included, that rests on nothing but ours, or makes the verdict."""
        standing = self.implied.ceilings if self.verdict is Verdict.HELD_IF_STATED else self._certain
        return min(standing, key=lambda item: item.reached, default=None)

    @property
    def left_to_gain(self) -> float:
        """Share that the ceilings leave of what there is to gain over the best blind guess; 1 without any."""
        return left_to_gain(self._certain, self.implied.baseline)

    @property
    def _certain(self) -> tuple[Ceiling, ...]:
        return tuple(item for item in self.implied.ceilings if not item.vouched)


@attrs.frozen(kw_only=True)
class Results:
    """What came of a run.

    Attributes:
        plan: What was run.
        cells: Every cell that is played, in the order of the plan.
        made: When and by which command.
    """

    plan: Plan
    cells: tuple[CellResult, ...]
    made: Provenance = attrs.field(factory=Provenance)

    @property
    def left(self) -> int:
        """Games that are still to be played: trials of cells that neither refuse nor have been given up."""
        return sum(max(0, self.plan.trials - r.tally.trials) for r in self.cells if not _is_settled(r))

    @property
    def contradictions(self) -> tuple[CellResult, ...]:
        """The cells in which observation and proof disagree."""
        return tuple(result for result in self.cells if result.verdict is Verdict.CONTRADICTION)


def _is_settled(result: CellResult) -> bool:
    given_up = any(status.final for status in result.tally.ends)
    return given_up or result.implied.status not in (Status.OK, Status.PENDING)


def worst(cells: Iterable[CellResult]) -> CellResult:
    """Return the cell that decides about a defence: the worst verdict, the most recovered, fewest queries.

    A defence against which nothing but a blind guess was played has a worst cell that is untested.

    Args:
        cells: The cells of one pipeline of defences, at least one.
    """

    def weakness(cell: CellResult) -> tuple[int, float, float]:
        return cell.verdict.severity, -(cell.accuracy.value if cell.accuracy else 0.0), cell.tally.queries or 0.0

    return min(cells, key=weakness)


def summarise(store: Store) -> Results:
    """Compute the results of a run record, complete or not: cell by cell, so that memory does not grow with trials."""
    found = list(_results(store))
    void = placebo.void_verdicts({result.cell.id: result.tally.placebo for result in found})
    judged = (attrs.evolve(result, verdict=void.get(result.cell.id, result.verdict)) for result in found)
    return Results(plan=store.plan, cells=tuple(judged), made=store.made)


def _results(store: Store) -> Iterator[CellResult]:
    labels = {facts.digest: facts for facts in store.plan.labels}
    known = {cell.id: store.implied(cell.id) or Implied(status=Status.PENDING) for cell in store.plan.cells}
    fields = choose(store.plan, known)
    for cell in store.plan.cells:
        if cell.id in fields:
            measures = store.plan.measures.get(parse(cell.channel, "channel").name, ())
            trials = store.trials(cell.id)
            result = _result_of(cell, labels[cell.digest], known[cell.id], trials, len(fields), measures)
            read = store.trials(cell.id, result.tally.trials)
            yield attrs.evolve(result, field=fields[cell.id], trials=read)


def result_of(
    cell: Cell,
    labels: LabelFacts,
    implied: Implied,
    trials: Sequence[Trial],
    n_cells: int,
) -> CellResult:
    """Compute the result of one cell that is judged alone.

    Args:
        cell: The cell.
        labels: The label set it was played on.
        implied: What was known before.
        trials: The trials that count.
        n_cells: Cells of the run; the alarm's confidence is corrected for as many comparisons (Bonferroni).
    """
    result = _result_of(cell, labels, implied, trials, n_cells, ())
    void = placebo.void_verdicts({cell.id: result.tally.placebo})
    return attrs.evolve(result, verdict=void.get(cell.id, result.verdict))


def _result_of(
    cell: Cell,
    labels: LabelFacts,
    implied: Implied,
    trials: Sequence[Trial],
    n_cells: int,
    measures: tuple[Measure, ...],
) -> CellResult:
    tally, played = tallied(trials, measures)
    found = CellResult(
        cell=cell,
        labels=labels,
        implied=implied,
        tally=tally,
        trials=trials,
        accuracy=None,
        exact=None,
        verdict=Verdict.NOT_PLAYED,
        measures=measures,
    )
    return _judged(found, played, n_cells) if tally.played else found


def _judged(result: CellResult, played: PlayedTrials, n_cells: int) -> CellResult:
    """Set what was observed beside what is implied."""
    blind = result.implied.baseline if result.tally.chance is None else result.tally.chance
    result = attrs.evolve(result, implied=attrs.evolve(result.implied, baseline=blind))
    shares, n_records, implied = played.shares, int(played.records[0]), result.implied
    family_wise = 1 - (1 - proportions.CONFIDENCE) / n_cells
    accuracy = proportions.label_accuracy(shares, n_records)
    exact = proportions.exact_recovery(played.correct == played.records)
    verdict = judge(
        accuracy=accuracy,
        exact=exact,
        baseline=implied.baseline,
        promise=implied.promise,
        ceilings=implied.ceilings,
        contradicted=alarms.contradicted(played, implied, n_cells),
        at_least=proportions.leak_floor(shares, n_records, family_wise),
        blind=implied.blind or bool(result.tally.doubt),
    )
    if alarms.reads_elsewhere(played, implied.baseline, n_cells, blind=implied.blind):
        verdict = Verdict.LEAKY
    return attrs.evolve(result, accuracy=accuracy, exact=exact, verdict=verdict)
