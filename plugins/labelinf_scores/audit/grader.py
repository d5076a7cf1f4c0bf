"""The audit of a host's own tables: her solution behind her function, which is run on made labels."""

from __future__ import annotations

import time
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.errors import InputError, QueriesExhaustedError
from labelinf_core.report import words
from labelinf_scores.audit.decision import Goal, ScorerDecision, Word
from labelinf_scores.audit.simulated import extraction, judged, made_reals, tolerated
from labelinf_scores.game.host_tables import HostTable
from labelinf_scores.simulation.formats import Columns, Format, Numbers, alike, telling
from labelinf_scores.simulation.read import read
from labelinf_scores.simulation.reals import read_reals
from labelinf_scores.simulation.simulator import Simulator

__all__ = ["GraderReport", "audited_grader"]


@attrs.frozen(kw_only=True)
class GraderReport:
    """What an audit of a host's tables found.

    Attributes:
        grader: The function, as it was named.
        table: What it scores.
        queries: The budget; 0 is unlimited.
        read: How many labels the attack says it has read.
        tolerance: How near a number counts as read; 0 where labels are classes.
        simulations: Labellings that were scored.
        confirmed: Whether what was read gives every answer.
        decision: What it comes to.
    """

    grader: str
    table: HostTable
    queries: int
    read: int
    tolerance: float
    simulations: int
    confirmed: bool
    decision: ScorerDecision

    @property
    def answer(self) -> Answer:
        """Return the answer in three parts."""
        (leak,) = self.decision.leaks
        share = leak.accuracy
        assert share is not None  # it is played to its end
        labels = words.count(self.table.places, "label")
        kind = f"{leak.measure} " if leak.measure else ""
        found = (
            f"{share.value:.1%} of {labels} {kind}in {words.count(leak.queries, 'query')} (blind: {leak.baseline:.1%})"
        )
        told = "a replay gives every answer" if self.confirmed else "a replay does not give every answer"
        if self.decision.word is Word.LEAKS:
            said = f"your grader gives up {found}, by simulate; {told}."
        elif leak.baseline == 1:
            said = f"NOTHING TO FIND: {labels}, all alike; a grader is audited over labels that differ."
        else:
            said = f"INCONCLUSIVE: simulate found {found}. No proof of safety."
        stopped = "only what holds for any function: subset, randomised-response, bounded-answers, guarded-board"
        return Answer(leaks=said, stopped=stopped)


def audited_grader(
    grader: str, table: HostTable, *, queries: int = 0, seed: int = 0, simulations: int = 60_000, tolerance: float = 0.0
) -> GraderReport:
    """Attack a host's function over her own tables.

    Args:
        grader: What it is called.
        table: Labels, and the function; the attack knows the class totals, or of numbers the quartiles.
        queries: The budget; 0 is unlimited.
        seed: Of all that is drawn.
        simulations: Most labellings that are scored.
        tolerance: How near a number counts as read; 0: a hundredth of the interquartile range.

    Raises:
        InputError: The function scores nothing that is like the sample.
    """
    rng, began, truth = np.random.default_rng(seed), time.perf_counter(), table.truth
    game = Simulator(score=table.answer, n_records=table.places, n_classes=max(2, table.values.size), limit=simulations)
    spent = 0

    def ask(rows: NDArray[Any]) -> NDArray[np.float64]:
        nonlocal spent
        if queries and spent >= queries:
            raise QueriesExhaustedError(f"all {queries} queries are spent.")
        spent += 1
        return table.answer(truth, rows)

    form = _form(table, game, rng)
    if table.values.size:
        totals = np.bincount(truth, minlength=game.n_classes)
        likeliest = totals.argmax()  # what a blind guess says of the rest
        found = read(game, ask, form, rng, totals.tolist())
        known, confirmed = found.labels >= 0, found.confirmed
        right = (np.where(known, found.labels, likeliest) if found.likely is None else found.likely) == truth
        baseline, measure = float((truth == likeliest).mean()), ""
    else:
        tolerance = tolerated(truth, tolerance or None)
        forms = [form] if isinstance(form, Numbers) else [Numbers()]
        prior = made_reals(truth)
        reals = read_reals(game, ask, forms, prior, rng=rng, limit=queries or None, tolerance=tolerance)
        known, confirmed = reals.read, reals.replayed
        right, baseline, measure = judged(reals, truth, tolerance)
    leak = extraction(right, baseline, spent, began, {}, measure)
    goal = Goal()
    decision = ScorerDecision(
        goal=goal,
        target=goal.read(baseline),
        leaks=(leak,),
        worth=float(table.places),
        prior=(baseline, 1 - baseline),
    )
    return GraderReport(
        grader=grader,
        table=table,
        queries=queries,
        read=int(known.sum()),
        tolerance=0.0 if table.values.size else tolerance,
        simulations=game.calls,
        confirmed=confirmed,
        decision=decision,
    )


def _form(table: HostTable, game: Simulator, rng: np.random.Generator) -> Format:
    """Return what submissions look like; of real targets their range, as far as the sample and the targets tell."""
    sample = table.predicted
    values = table.values if table.values.size else table.truth
    if table.one_hot:
        forms: tuple[Format, ...] = (Columns(n_classes=len(table.columns)),)
    else:
        forms = alike(sample if sample.shape[1] > 1 else sample.ravel(), values, table.places)

    def made() -> NDArray[Any]:
        return (
            rng.integers(table.values.size, size=table.places)
            if table.values.size
            else rng.choice(made_reals(table.truth), table.places)
        )

    found = telling(game, forms, made, rng)
    if found is None:
        rows, columns = (words.count(n, what) for n, what in zip(sample.shape, ("row", "column"), strict=True))
        raise InputError(
            f"the grader scores nothing that is like the sample submission: it was given {rows} and {columns} of "
            f"{'numbers' if sample.dtype.kind in 'biuf' else 'texts'}, and made labels; "
            f"{table.trouble(made(), forms[0].spread(table.places, rng))}."
        )
    return found
