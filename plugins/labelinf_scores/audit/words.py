"""The audit of a scoring function in words: its answer in three parts."""

from __future__ import annotations

from labelinf_core.contracts.answer import Answer
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.guarantees import Interval
from labelinf_core.report import words
from labelinf_scores.audit.report import ScorerReport
from labelinf_scores.game.channel import ScoreChannel
from labelinf_scores.game.utility import USEFUL

__all__ = ["answer", "said"]

_MOST = 3  # changes that an answer names
_CHANCE = ", but honest teams' ranking is mostly chance then"


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
    decision, tried = report.decision, _tried(report)
    if decision.word is AuditWord.LEAKS:
        return f"your scorer gives up {_most(report, each=True)}"
    if decision.word is AuditWord.CERTIFIED and decision.proof:
        return f"CERTIFIED as deployed ({report.line}): {decision.proof.sentence()}. {tried}"
    if decision.word is AuditWord.BROKEN:
        return f"INCOMPLETE: an attack broke. {tried} No proof of safety."
    if decision.unnamed:
        tried += f" Others of the numbers that it returns were not audited: {', '.join(decision.unnamed)}."
    if decision.besides:
        tried += f" Nothing is proved of it together with what else was told: {'; '.join(decision.besides)}."
    return f"INCONCLUSIVE: {tried} No proof of safety."


def _tried(report: ScorerReport) -> str:
    """Say what was tried and showed no leak, and how little that may mean."""
    budget = words.count(report.queries, "query") if report.queries else "any number of queries"
    if report.found is not None and report.found.dumb:
        return f"{report.found.sentence()}. Nothing was played."
    if not report.played:
        why = next((leak.refusal for leak in report.leaks if leak.attack.startswith("simulate") and leak.refusal), "")
        return f"no attack could be played within {budget}" + (f": {why}." if why else ".")
    none = "no leak" if report.decision.goal.most is None else "nothing beyond --max-labels-per-query"
    many = f"{none} found by {words.count(len(report.played), 'attack')} within {budget}"
    end = ", but the scorer changed meanwhile: it keeps state." if report.changed else f". The most was {_most(report)}"
    return many + end


def _most(report: ScorerReport, *, each: bool = False) -> str:
    """Say what the strongest attack got, and how much that is of a query."""
    best, share = max(
        ((leak, leak.accuracy) for leak in report.played if leak.accuracy), key=lambda item: item[0].labels_per_query
    )
    told = f"all {_scored(report)} {best.unit} in {words.count(best.queries, 'query')}, by {best.attack}."
    if not best.exact:
        told = f"{said(share)} of {_scored(report)} {best.unit} in {best.queries} queries (the {best.blind} has "
        told += f"{best.baseline:.1%}), by {best.attack}."
    rate = best.labels_per_query
    return f"{rate:{'.1f' if rate >= 0.1 else '.1g'}} labels a query: {told}" if each else told


def _scored(report: ScorerReport) -> str:
    """How many labels are scored, and that it is not all of them."""
    return str(report.scored) if report.scored == report.data.n_records else f"{report.scored} scored"


def _stopped(report: ScorerReport) -> str:
    decision = report.decision
    if decision.word is AuditWord.CERTIFIED:
        return f"what stands already ({report.line})"
    if decision.proof:
        return f"proved of what stands: {decision.proof.sentence()}"
    if decision.besides:
        return "nothing that stands here: what was told stays told"
    if report.data.reals is not None:
        return "not known: nothing is proved of real labels here"
    if not report.changes:
        return (
            f"nothing here is proved to reach the target ({report.decision.target}) within that budget; try --queries"
        )
    more = f"; and {len(report.changes) - _MOST} more" if len(report.changes) > _MOST else ""
    named = "; ".join(
        f"{item.advice.setting}, {item.proof.points}{_CHANCE if item.ranking < USEFUL else ''}"
        for item in report.changes[:_MOST]
    )
    where = f", if {report.changes[0].proof.where}" if report.changes[0].proof.where else ""
    return f"{named}{more} (proved to reach the target, {decision.target}{where})"
