"""Records that no answer depends on, and records in an unknown order: nobody can do better than guess.

When a share t of the records ever enters an answer, at best those are known and the others guessed: accuracy at most
``t + (1 - t) max p``. That is for independent labels; who knows the class counts exactly also learns how the others
are split, worth at most ``sqrt((K-1)/K * variance)`` labels, the variance being that of sampling without replacement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_privacy.composition import ever_scored
from labelinf_scores.bounds.entropy import label_bits
from labelinf_scores.bounds.groups import alike, said
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["Unseen", "ever_seen", "unseen_accuracy"]


def unseen_accuracy(seen: float, prior: Sequence[float], n_records: int | None = None) -> float:
    """Return the largest accuracy when all answers depend on a share ``seen`` of the records.

    Args:
        seen: Share of the records, in [0, 1]; secret to the adversary or not.
        prior: Share of every class.
        n_records: N when the adversary knows the class counts exactly; None for independent labels.
    """
    reached = seen + (1 - seen) * max(prior)
    if n_records is None or n_records < 2:
        return reached
    unseen = (1 - seen) * n_records
    variance = unseen * sum(p * (1 - p) for p in prior) * (n_records - unseen) / (n_records - 1)
    n_classes = len(prior)
    return min(1.0, reached + math.sqrt((n_classes - 1) / n_classes * variance) / n_records)


@attrs.frozen(kw_only=True)
class Unseen(Bound):
    """Ceilings for a score of some of the records only, or of records in an unknown order."""

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """One ceiling when records stay unseen, one when their order is unknown."""
        if not isinstance(threat, ScoreThreat):
            return ()
        facts, found = threat, []
        seen = ever_seen(facts)
        if seen < 1:
            found.append(_hidden(facts, seen))
        if not facts.ordered:
            found.append(_unordered(facts))
        return tuple(found)

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Nothing but the ceilings."""
        return ()


def ever_seen(facts: ScoreThreat) -> float:
    """Return the share of the records that any answer depends on."""
    if not facts.scored_fresh:
        return facts.scored
    return 1.0 if facts.query_budget is None else ever_scored(facts.scored, facts.query_budget)


def _hidden(facts: ScoreThreat, seen: float) -> Ceiling:
    accuracy, groups = 1.0, alike(facts)
    if groups is not None:  # whoever sees one label of a group may know them all
        size, count = groups
        accuracy = unseen_accuracy(min(1.0, size * seen), facts.prior, count)
    return Ceiling(
        accuracy=accuracy,
        exact=accuracy,
        statement="labelinf theory, scoring part of the records",
        conditions=f"answers depend on {seen:.2%} of the records, drawn without a look at labels; class counts known; "
        f"{said(facts)}",
    )


def _unordered(facts: ScoreThreat) -> Ceiling:
    accuracy = facts.baseline if alike(facts) else 1.0
    return Ceiling(
        accuracy=accuracy,
        exact=accuracy if facts.groups else math.exp2(-label_bits(facts.prior, facts.n_records)),
        statement="labelinf theory, unknown order; Aggarwal et al., AISTATS 2022, Section 7",
        conditions="the order of the records is secret and random; the class counts themselves are given away; "
        f"{said(facts)}",
    )
