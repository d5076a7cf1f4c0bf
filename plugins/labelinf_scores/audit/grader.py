"""The audit of a host's own tables: her solution behind her function, which is run on made labels."""

from __future__ import annotations

import attrs
import numpy as np

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.errors import InputError
from labelinf_core.report import words
from labelinf_scores.audit.decision import NOTHING, ScorerDecision
from labelinf_scores.audit.scorer import Extraction
from labelinf_scores.audit.simulated import UNSCORED, made_reals, simulated, tolerated
from labelinf_scores.game.host_tables import HostTable
from labelinf_scores.simulation.formats import Columns, SubmissionFormat, alike

__all__ = ["GraderReport", "audited_grader"]

_ALIKE = "the labels are all alike; a grader is audited over labels that differ"


@attrs.frozen(kw_only=True)
class GraderReport:
    """What an audit of a host's tables found.

    Attributes:
        grader: The function, as it was named.
        table: What it scores.
        queries: The budget; 0 is unlimited.
        tolerance: How near a number counts as read; 0 where labels are classes.
        decision: What it comes to.
    """

    grader: str
    table: HostTable
    queries: int
    tolerance: float
    decision: ScorerDecision

    @property
    def leak(self) -> Extraction:
        """What the attack got."""
        return self.decision.leaks[0]

    @property
    def answer(self) -> Answer:
        """Return the answer in three parts."""
        return Answer(leaks=self._leaks(), stopped=self._stopped())

    @property
    def boards(self) -> bool:
        """Whether a guarded board can run the function: it scores one column of classes."""
        return len(self.table.targets) == 1 < self.table.values.size

    def _leaks(self) -> str:
        leak, share = self.leak, self.leak.accuracy
        if leak.baseline == 1 or leak.refusal == _ALIKE:
            return f"NOTHING TO FIND: {_ALIKE}."
        if leak.failure:
            return f"INCOMPLETE: simulate broke: {leak.failure}. No proof of safety."
        if share is None:
            return f"INCONCLUSIVE: {leak.refusal}. No proof of safety."
        labels = words.count(self.table.places, "label")
        kind = f"{leak.measure} " if leak.measure else ""
        found = (
            f"{share.value:.1%} of {labels} {kind}in {words.count(leak.queries, 'query')} (blind: {leak.baseline:.1%})"
        )
        told = "a replay gives every answer" if leak.evidence["replayed"] else "a replay does not give every answer"
        if self.decision.word is AuditWord.LEAKS:
            return f"your grader gives up {found}, by simulate; {told}."
        return f"INCONCLUSIVE: simulate found {found}. No proof of safety."

    def _stopped(self) -> str:
        if self.boards:
            return "a guarded board, whatever the function is; without a ledger subset and randomised-response"
        if not self.table.values.size:
            return "nothing that is proved: labels may be any numbers; a guarded board takes a few grades of them"
        return f"a guarded board, once {words.count(len(self.table.targets), 'private column')} are one of classes"


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
    rng, truth = np.random.default_rng(seed), table.truth
    near = 0.0 if table.values.size else tolerated(truth, tolerance or None)
    leak, forms = Extraction(attack="simulate", refusal=_ALIKE), _forms(table)
    if table.values.size != 1:
        leak = simulated(
            table.answer,
            truth,
            forms,
            n_classes=table.values.size,
            queries=queries,
            rng=rng,
            simulations=simulations,
            tolerance=near,
            begun=table.begun,
        )
    if leak.refusal == UNSCORED:
        raise InputError(
            f"the grader scores nothing that is like the sample submission: {_sent(table, forms[0], rng)}."
        )
    decision = ScorerDecision(
        goal=NOTHING,
        target=NOTHING.read(leak.baseline),
        leaks=(leak,),
        worth=float(table.places),
        prior=(leak.baseline, 1 - leak.baseline),
    )
    return GraderReport(grader=grader, table=table, queries=queries, tolerance=near, decision=decision)


def _forms(table: HostTable) -> tuple[SubmissionFormat, ...]:
    """Return what submissions may look like; of real targets their range, as far as the sample and targets tell."""
    sample = table.predicted
    if table.one_hot:
        return (Columns(n_classes=len(table.columns)),)
    values = table.values if table.values.size else table.truth
    return alike(sample if sample.shape[1] > 1 else sample.ravel(), values, table.places)


def _sent(table: HostTable, form: SubmissionFormat, rng: np.random.Generator) -> str:
    """Say what a grader was given that it does not score, and what came of it."""
    sample, classes = table.predicted, table.values.size
    made = rng.integers(classes, size=table.places) if classes else rng.choice(made_reals(table.truth), table.places)
    rows, columns = (words.count(n, what) for n, what in zip(sample.shape, ("row", "column"), strict=True))
    kind = "numbers" if sample.dtype.kind in "biuf" else "texts"
    trouble = table.trouble(made, form.spread(table.places, rng))
    return f"it was given {rows} and {columns} of {kind}, and made labels; {trouble}"
