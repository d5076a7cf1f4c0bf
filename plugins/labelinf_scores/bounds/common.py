"""What the bounds share: conditions that recur, and the facts of a score channel's threat model."""

from __future__ import annotations

from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.game.threat import ScoreThreat

__all__ = ["EXACT_NOISE", "INDEPENDENT", "UNRELATED", "any_score", "counts_allowance", "score_threat"]

UNRELATED = "nothing else tells about the labels: a limit on points over a perfect model, which may know more"
INDEPENDENT = (
    f"{UNRELATED}; labels independent with the class shares, all others known; exact class counts would be worth a "
    "little more, about 0.2 / N by simulation, for which the alarm allows"
)
EXACT_NOISE = "value and noise are put on one grid together and drawn exactly, in whole numbers, independently"


def counts_allowance(single: float, double: float, n_records: int, n_classes: int) -> float:
    """Return what a ceiling for independent labels must allow for when the class counts are exactly known.

    Label orders with the same counts differ in two records at least: exchanging the labels of one record and of a
    random other one of the wanted class turns one conditional distribution into the other. So the ceiling for *two*
    records changed holds, whatever N. For many records that is far too much; what knowing the counts is worth is then
    about ``0.2 / N`` (by simulation), and ``(K - 1) / N`` is allowed.

    Args:
        single: The ceiling when one record changes.
        double: The ceiling when two do.
        n_records: N.
        n_classes: K.
    """
    return max(0.0, min(double - single, (n_classes - 1) / n_records))


def any_score(threat: ThreatModel) -> ScoreThreat | None:
    """Return ``threat`` when something can be said of it, None otherwise, whatever is scored.

    Bounds are asked about every channel; and where a stage has not said what it does, nothing is bounded.
    """
    return threat if isinstance(threat, ScoreThreat) and threat.known else None


def score_threat(threat: ThreatModel) -> ScoreThreat | None:
    """Return ``threat`` when something can be said of it, and what is scored is the mean of a loss."""
    told = any_score(threat)
    return told if told is not None and told.metric is None else None
