"""A whole audit of a scoring function: probe, attacks, changes that would help; and its answer in three parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from labelinf_core.advise.search import Advice
from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.plugin.descriptors import Kind
from labelinf_core.report import words
from labelinf_core.report.answer import Answer
from labelinf_core.specs import Builder
from labelinf_scores.audit.advice import smallest_changes
from labelinf_scores.audit.probe import ScorerFindings
from labelinf_scores.audit.scorer import Extraction, audit_scorer, findings_of
from labelinf_scores.audit.strongest import shipped
from labelinf_scores.game.scorers import make_scorer

__all__ = ["ScorerReport", "audited", "said"]


@attrs.frozen(kw_only=True)
class ScorerReport:
    """What an audit of a scorer found.

    Attributes:
        scorer: Its name.
        data: The private labels.
        queries: The budget; 0 is unlimited.
        findings: What the probe learnt.
        leaks: What every attack got.
        changes: The smallest changes that are proved to stop exact recovery, if the probe is right.
    """

    scorer: str
    data: LabelSet
    queries: int
    findings: ScorerFindings
    leaks: tuple[Extraction, ...]
    changes: tuple[Advice, ...] = ()

    @property
    def contradicting(self) -> tuple[str, ...]:
        """The attacks that fell short of what the probe made theory expect."""
        return tuple(leak.attack for leak in self.leaks if leak.contradicts)

    @property
    def answer(self) -> Answer:
        """What leaks, what is proved to stop it if the probe is right, what that costs."""
        from labelinf_scores.game.channel import ScoreChannel

        measures = ScoreChannel.measures()
        costs = [f"{item.setting}: {words.cost(item.certified_cost, measures)}" for item in self.changes[:3]]
        return Answer(leaks=self._leaks(), stopped=self._stopped(), costs="; ".join(costs))

    def _leaks(self) -> str:
        played = [(leak, leak.accuracy) for leak in self.leaks if leak.accuracy]
        if not played:
            budget = f"{self.queries} queries" if self.queries else "any number of queries"
            return f"no attack could be played within {budget}; that is not a proof of safety."
        best, share = max(played, key=lambda item: item[0].labels_per_query)
        if self.contradicting and not best.labels_per_query:
            return "INCONCLUSIVE: no attack beat the majority guess, but they were played on a wrong picture."
        if best.exact:
            told = f"all {self.data.n_records} labels in {words.count(best.queries, 'query')}"
        else:
            told = f"{said(share)} of labels in {best.queries} queries (the majority guess has {best.baseline:.1%})"
        return f"your scorer gives up {best.labels_per_query:.1f} labels a query: {told}, by {best.attack}."

    def _stopped(self) -> str:
        if self.contradicting:
            return "not known: the probe must have been wrong, and no change is suggested"
        if not any(leak.exact for leak in self.leaks):
            return "nothing that is known here; no attack recovered every label"
        if not self.changes:
            return "nothing here is proved to stop exact recovery within that budget; give one with --queries"
        more = f"; and {len(self.changes) - 3} more" if len(self.changes) > 3 else ""
        return "; ".join(item.setting for item in self.changes[:3]) + more + " (proved, if the probe is right)"


def audited(
    scorer: str,
    data: LabelSet,
    builder: Builder,
    *,
    attacks: Sequence[str] = (),
    queries: int = 0,
    seed: int = 0,
    progress: Callable[[str, int], None] = lambda step, of: None,
) -> ScorerReport:
    """Probe, play and advise.

    Args:
        scorer: ``module:function``, ``cmd:PROGRAM`` or a scorer's name.
        data: The private labels.
        builder: Builds losses and attacks.
        attacks: Their specs; the shipped list when empty.
        queries: The adversary's budget; 0 is unlimited.
        seed: Of all that is drawn.
        progress: Called before every step with its name and how many there are.

    Raises:
        InputError: The scorer cannot be asked, or is no mean of a known loss.
    """
    attacks = attacks or shipped()["attacks"]
    losses = {name: builder.build(Kind.LOSS, name, "strongest.toml") for name in shipped()["losses"]}
    made = make_scorer(scorer, next(iter(losses.values())), data.n_classes)
    rng, steps = np.random.default_rng(seed), len(attacks) + 2
    progress("probing", steps)
    findings = findings_of(made, data, losses, rng)
    if not findings.loss:
        raise InputError(
            f"scorer {scorer!r} is no mean over records of a loss that is known here ({', '.join(losses)}): "
            f"nothing was played, nothing is known (found by probing: {findings.sentence()}). If it negates, sums or "
            f"rescales one, return the mean loss itself; labelinf audit log reads the answers of roc-auc, accuracy "
            f"and others."
        )
    found = audit_scorer(
        made,
        data,
        builder=builder,
        attacks=attacks,
        findings=findings,
        loss=losses[findings.loss],
        queries=queries,
        rng=rng,
        progress=lambda attack: progress(attack, steps),
    )
    report = ScorerReport(scorer=scorer, data=data, queries=queries, findings=findings, leaks=tuple(found))
    # What is proved to help would rest on the very probe that was contradicted.
    if not any(leak.exact for leak in report.leaks) or report.contradicting:
        return report
    progress("what stops it", steps)
    return attrs.evolve(report, changes=tuple(smallest_changes(builder, data, findings, queries)))


def said(share: Interval) -> str:
    """Write a share with its interval."""
    return f"{share.value:.2%} [{share.low:.1%}, {share.high:.1%}]"
