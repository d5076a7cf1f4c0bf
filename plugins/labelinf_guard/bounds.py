"""What a guard denies to every attack of a game: few bits about a part of the labels, and nothing of the others.

It reads what is known behind all stages, whoever limits the bits and whoever takes the part: a board of
:mod:`labelinf_guard`, or other stages that state the same. A stage further out that looks at labels undoes both.
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Bound
from labelinf_core.contracts.guarantees import BoundValue, Ceiling
from labelinf_core.contracts.threat import ThreatModel
from labelinf_guard.certificate.statement import Certificate, Part, Terms, certify
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["GuardedGain"]


@attrs.frozen(kw_only=True)
class GuardedGain(Bound):
    """The gain over the majority guess, from bits about the labels that are scored; class counts known and charged."""

    def ceilings(self, threat: ThreatModel) -> tuple[Ceiling, ...]:
        """Return one ceiling where bits are limited, and anything is proved; none of labels in groups."""
        if not isinstance(threat, ScoreThreat) or threat.groups or math.isinf(threat.facts.information):
            return ()
        found = _certificate(threat)
        if found.void:
            return ()
        return (
            Ceiling(
                accuracy=threat.baseline + found.now,
                statement="labelinf theory, guard, B3, B4, B6, B9 and B18",
                conditions=f"{'; '.join(found.arithmetic())}; "
                "labels in random order, records assumed independent of one another, class counts known and charged",
            ),
        )

    def evaluate(self, threat: ThreatModel) -> tuple[BoundValue, ...]:
        """Nothing but the ceiling."""
        return ()


def _certificate(threat: ScoreThreat) -> Certificate:
    """Return what so many bits about so many labels prove; which labels are scored must never change."""
    scored = 1.0 if threat.facts.scored_fresh else threat.facts.scored
    public = max(1, math.ceil(scored * threat.n_records - 1e-9))
    return certify(
        Terms(
            classes=threat.n_classes,
            perfect=threat.baseline,
            public=Part(labels=public, bits=threat.facts.information),
            sealed=Part(labels=threat.n_records - public),
        )
    )
