"""The audit of a scoring function in words: its answer in three parts."""

from __future__ import annotations

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.report import words
from labelinf_scores.audit.advice import exceeds
from labelinf_scores.audit.probe import Unexplained
from labelinf_scores.audit.report import ScorerReport
from labelinf_scores.game.channel import ScoreChannel

__all__ = ["answer", "said"]

_MOST = 3  # changes that an answer names


def answer(report: ScorerReport) -> Answer:
    """Return the answer in three parts."""
    measures = ScoreChannel.measures()
    named = [item.advice for item in report.changes[:_MOST] if item.advice.certified_cost]
    costs = [f"{item.setting}: {words.cost(item.certified_cost, measures)}" for item in named]
    return Answer(leaks=_leaks(report), stopped=_stopped(report), costs="; ".join(costs))


def said(share: Interval) -> str:
    """Write a share with its interval."""
    return f"{share.value:.2%} [{share.low:.1%}, {share.high:.1%}]"


def _leaks(report: ScorerReport) -> str:
    if isinstance(report.findings, Unexplained):
        return f"INCONCLUSIVE: {report.findings.sentence()}. Nothing was played; that is no proof of safety."
    played = [(leak, leak.accuracy) for leak in report.played if leak.accuracy]
    budget = words.count(report.queries, "query") if report.queries else "any number of queries"
    if not played:
        return f"INCONCLUSIVE: no attack could be played within {budget}; that is not a proof of safety."
    best, share = max(played, key=lambda item: item[0].labels_per_query)
    if report.wrong and not report.leaking(None):
        why = "they were played on a picture that is a part or a guess" if report.partial else "the probe was wrong"
        why = "the scorer changed meanwhile" if report.changed else why
        return f"INCONCLUSIVE: no attack beat the majority guess by more than luck may, but {why}."
    told = f"all {_scored(report)} labels in {words.count(best.queries, 'query')}, by {best.attack}."
    if not best.exact:
        told = f"{said(share)} of {_scored(report)} labels in {best.queries} queries (the majority guess has "
        told += f"{best.baseline:.1%}), by {best.attack}."
    if report.leaking(None):
        each = best.labels_per_query
        return f"your scorer gives up {each:{'.1f' if each >= 0.1 else '.1g'}} labels a query: {told}"
    tried = words.count(len(played), "attack")
    if report.unnamed:
        return (
            f"INCONCLUSIVE: no leak found in the first number that it returns ({tried} within {budget}), and "
            f"others were not audited; name each number to audit it: {', '.join(report.unnamed)}."
        )
    return f"no leak found, and this much was tried: {tried} within {budget}. The most was {told} No proof of safety."


def _scored(report: ScorerReport) -> str:
    """How many labels are scored, and that it is not all of them."""
    return str(report.scored) if report.scored == report.data.n_records else f"{report.scored} scored"


def _stopped(report: ScorerReport) -> str:
    if isinstance(report.findings, Unexplained):
        return "not known: nothing explains what is to be stopped"
    if report.changed:
        return "not known: the scorer changed while it was attacked, and no change is suggested"
    if report.partial:
        return "not known: what was found does not explain all answers, and no change is suggested"
    if report.wrong:
        return "not known: the probe must have been wrong, and no change is suggested"
    if not any(exceeds(leak, report.target) for leak in report.leaks):
        return f"nothing has to: no attack exceeded the target ({report.target})"
    stray = report.findings.stray
    stray = f"; {stray}: refuse those, or bound what is predicted on both sides" if stray else ""
    if report.findings.stray is None:
        stray = "; answers take too long to try what no honest team submits, so no noise is called enough"
    if not report.changes:
        return f"nothing here is proved to reach the target ({report.target}) within that budget; try --queries{stray}"
    more = f"; and {len(report.changes) - _MOST} more" if len(report.changes) > _MOST else ""
    named = "; ".join(item.advice.setting for item in report.changes[:_MOST])
    return f"{named}{more} (proved to reach the target, {report.target}, if the probe is right){stray}"
