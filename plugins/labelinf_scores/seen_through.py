"""What a score looks like through defences that act on labels and records: the adversary's side of them.

An attack need not know how it came about that labels were perturbed or records left out. It needs what a row *costs on
average* for every true label, how many records the mean runs over, and which probability a read label has to be true.

* Labels perturbed once: costs are those of the perturbed labels; what is read is a perturbed label.
* Perturbed anew for every query: on average label k costs ``(keep - r) cost_k + r sum_j cost_j`` with
  ``r = (1 - keep) / (K - 1)``; the rest is fresh noise, and what is read is the true label.
* Debiased: the inverse of that is applied to the score, ``(cost_k - r sum_j cost_j) / (keep - r)``.
* A fixed secret subset: the mean runs over fewer records; one that is left out answers neither yes nor no.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.game.threat import ScoreThreat

__all__ = ["averaged_records", "expected_costs", "kept_when_read", "unreadable"]


def unreadable(threat: ScoreThreat) -> str:
    """Say why a score does not tell which records its labels are of; empty when it does."""
    if not threat.ordered:
        return "needs records in an order that does not change"
    return "" if threat.facts.whole else "needs a score over all records"


def kept_when_read(threat: ScoreThreat) -> float:
    """Return the probability that a label which the scores agree on is the true one."""
    return 1.0 if threat.facts.label_fresh else threat.label_keep


def averaged_records(threat: ScoreThreat) -> int:
    """Return how many records a score averages over, the same ones in every query as far as an attack can use it."""
    return threat.n_records if threat.averaged is None or threat.scored_fresh else threat.averaged


def expected_costs(costs: NDArray[Any], threat: ScoreThreat) -> NDArray[Any]:
    """Return what the labels that an attack reads cost on average, after perturbing and debiasing.

    Args:
        costs: What labels cost, shape ``(n, K)``.
        threat: What is public.
    """
    kept, moved = threat.label_keep, (1 - threat.label_keep) / (threat.n_classes - 1)
    total = costs.sum(axis=1)[:, None]
    facts = threat.facts
    if facts.label_fresh and not facts.debiased:
        return np.asarray(costs * (kept - moved) + total * moved)
    if facts.debiased and not facts.label_fresh:
        return np.asarray((costs - total * moved) / (kept - moved))
    return costs
