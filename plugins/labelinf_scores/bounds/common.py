"""What the bounds share: conditions that recur, and the facts of a score channel's threat model."""

from __future__ import annotations

from labelinf_core.channels.score import ScoreThreat
from labelinf_core.threat import ThreatModel

__all__ = ["INDEPENDENT", "REAL_NOISE", "score_threat"]

INDEPENDENT = (
    "labels are independent with the class shares and the adversary may know all others; exact class counts would be "
    "worth a little more, about 0.2 / N"
)
REAL_NOISE = "the noise is real-valued (the low bits of a double give away more), its draws independent"


def score_threat(threat: ThreatModel) -> ScoreThreat | None:
    """Return ``threat`` when it is the score channel's, None otherwise: bounds are asked about every channel."""
    return threat if isinstance(threat, ScoreThreat) else None
