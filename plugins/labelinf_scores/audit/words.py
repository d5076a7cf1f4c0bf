"""The audit of a scoring function in words: its answer in three parts."""

from __future__ import annotations

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.report import words
from labelinf_scores.audit.identify import Identified
from labelinf_scores.audit.report import ScorerReport
from labelinf_scores.game.channel import ScoreChannel

__all__ = ["answer", "said"]

_MOST = 3  # changes that an answer names


def answer(report: ScorerReport) -> Answer:
    """Return the answer in three parts."""
    measures = ScoreChannel.measures()
    costs = [f"{item.setting}: {words.cost(item.certified_cost, measures)}" for item in report.changes[:_MOST]]
    return Answer(leaks=_leaks(report), stopped=_stopped(report), costs="; ".join(costs))


def said(share: Interval) -> str:
    """Write a share with its interval."""
    return f"{share.value:.2%} [{share.low:.1%}, {share.high:.1%}]"


def _leaks(report: ScorerReport) -> str:
    played = [(leak, leak.accuracy) for leak in report.leaks if leak.accuracy]
    if not report.leaks:
        return "INCONCLUSIVE: no loss or metric that is known here explains its answers; nothing was played."
    if not played:
        budget = f"{report.queries} queries" if report.queries else "any number of queries"
        return f"no attack could be played within {budget}; that is not a proof of safety."
    best, share = max(played, key=lambda item: item[0].labels_per_query)
    if report.contradicting and not best.labels_per_query:
        return "INCONCLUSIVE: no attack beat the majority guess, but they were played on a wrong picture."
    if best.exact:
        told = f"all {_scored(report)} labels in {words.count(best.queries, 'query')}"
    else:
        told = f"{said(share)} of labels in {best.queries} queries (the majority guess has {best.baseline:.1%})"
    return f"your scorer gives up {best.labels_per_query:.1f} labels a query: {told}, by {best.attack}."


def _scored(report: ScorerReport) -> str:
    """How many labels are scored, and that it is not all of them."""
    findings, n_records = report.findings, report.data.n_records
    scored = int(findings.scored.sum()) if isinstance(findings, Identified) else n_records
    return str(scored) if scored == n_records else f"{scored} scored"


def _stopped(report: ScorerReport) -> str:
    if report.contradicting:
        return "not known: the probe must have been wrong, and no change is suggested"
    if not any(leak.exact for leak in report.leaks):
        return "nothing that is known here; no attack recovered every label"
    if not report.changes:
        return "nothing here is proved to stop exact recovery within that budget; give one with --queries"
    more = f"; and {len(report.changes) - _MOST} more" if len(report.changes) > _MOST else ""
    return "; ".join(item.setting for item in report.changes[:_MOST]) + more + " (proved, if the probe is right)"
