"""What attacks with a certificate for every query promise, and what they show for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labelinf_core.contracts.guarantees import Promise
from labelinf_scores.certificates.error import disturbance
from labelinf_scores.certificates.interval import UnitReading
from labelinf_scores.certificates.row_costs import LOG_ERROR
from labelinf_scores.certificates.summation import adds_pairwise
from labelinf_scores.game.threat import ScoreThreat
from labelinf_scores.seen_through import unreadable

__all__ = ["conditions_of", "evidence_of", "mismatch", "promise_of"]

_ANSWERS = "the curator answers every query on the true labels of all records, in order"


def mismatch(threat: ScoreThreat) -> str:
    """Say why no block of records can be read from a score under ``threat``; empty when it can."""
    if clause := unreadable(threat):
        return clause
    if threat.facts.label_fresh or threat.facts.debiased or (threat.label_keep < 1 and threat.magnification != 1):
        return "needs the same labels behind every score"
    if disturbance(threat, 1.0) == float("inf") and not 0 < threat.noise_std < float("inf"):
        return "the noise has no bound and no spread that is known"
    return ""


def promise_of(
    threat: ScoreThreat, readings: Iterable[UnitReading], *, whole: bool, n_queries: int, statement: str
) -> Promise | None:
    """Promise every label, when all queries are certified and fit the budget.

    Args:
        threat: What is public.
        readings: Of all queries.
        whole: Whether they ask about every record.
        n_queries: How many they are.
        statement: What proves it.
    """
    tightest = min(readings, key=lambda reading: reading.survives - reading.present, default=None)
    if tightest is None:
        return None
    bounded = disturbance(threat, 1.0) < float("inf")
    return Promise(
        survives=tightest.survives,
        present=tightest.present,
        statement=statement,
        conditions=conditions_of(threat),
        proved=whole and bounded and threat.facts.intact and threat.allows(n_queries),
        strict=True,
    )


def conditions_of(threat: ScoreThreat) -> str:
    """Return what must hold of the curator for a certificate to apply."""
    return f"{_ANSWERS}; {_arithmetic(threat)}"


def evidence_of(threat: ScoreThreat, promise: Promise | None) -> dict[str, Any]:
    """Return whether recovery is certain, how far the tightest query is from failing, and what was checked."""
    if promise is None:
        return {"recovery": "heuristic"}
    evidence: dict[str, Any] = {
        "recovery": "certified" if promise.certified else "heuristic",
        "survives": promise.survives,
        "margin": 1 - promise.present / promise.survives,
    }
    if _adds_as_numpy(threat):
        evidence["NumPy adds pairwise here"] = adds_pairwise(threat.arithmetic, threat.n_records)
    return evidence


def _adds_as_numpy(threat: ScoreThreat) -> bool:
    return threat.summation == "numpy" and threat.arithmetic in LOG_ERROR


def _arithmetic(threat: ScoreThreat) -> str:
    if not threat.loss.is_log_loss or threat.arithmetic not in LOG_ERROR:
        order = ", adding from the first record to the last" if threat.summation == "sequential" else ""
        return f"it computes row costs in {threat.arithmetic} as this machine does{order}"
    if not _adds_as_numpy(threat):
        return f"it computes in {threat.arithmetic}, logarithms within two units in the last place, in any order"
    places = LOG_ERROR[threat.arithmetic]
    return f"it computes in {threat.arithmetic}, logarithms within {places} units in the last place, in NumPy's order"
