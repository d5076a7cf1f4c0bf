"""What the bounds share: conditions that recur, and the facts of a score channel's threat model."""

from __future__ import annotations

import math
from collections.abc import Callable

from labelinf_core.contracts.threat import ThreatModel
from labelinf_scores.bounds import groups
from labelinf_scores.game.threat import ScoreThreat

__all__ = [
    "EXACT_NOISE",
    "UNRELATED",
    "any_score",
    "counts_allowance",
    "independent",
    "is_of_all",
    "is_open",
    "score_threat",
]

UNRELATED = "nothing else tells about the labels: a limit on points over a perfect model, which may know more"
_COUNTS = "class counts exactly known, which is allowed for: what changing two "
_COUNTS_OF = ("groups is worth at most", "labels is worth at most, or (K - 1) max(1 / (4 sqrt(N)), 1 / N)")
EXACT_NOISE = "value and noise are put on one grid together and drawn exactly, in whole numbers, independently"


def independent(threat: ThreatModel, *, counted: bool = True) -> str:
    """Say when a ceiling for one record holds for all, and whether what known class counts are worth is in it."""
    boards = (threat.members or (threat,)) if isinstance(threat, ScoreThreat) else ()
    some = any(not board.facts.loss.always_scored for board in boards)
    scored = "of all labels that have a score, those in which every class is there; " if some else ""
    counts = _COUNTS + _COUNTS_OF[not threat.groups] if counted else "class counts are not exactly known"
    return f"{scored}{UNRELATED}; {groups.said(threat)}; all have the class shares, all others are known; {counts}"


def counts_allowance(threat: ThreatModel, against: Callable[[int], float]) -> float:
    """Return what a ceiling for independent labels must allow for when the class counts are exactly known.

    Label orders with the same counts differ in two records at least: exchanging the labels of one record and of a
    random other one of the wanted class turns one conditional distribution into the other. So the ceiling for *two*
    records changed holds, whatever N. For many records that is far too much, as one record alone can be asked about so
    well. Where nothing is to be gained by guessing another class than the largest, at the epsilon at which that
    changes, plain randomised response gains ``0.09 / sqrt(N)`` from the counts. The most that *any* mechanism gains is
    a linear program: at most ``1 / N`` to N = 16 (whoever names the one label of a rare class gains ``1/N - 2/N^2``),
    ``0.25 / sqrt(N)`` beyond, of all that was computed, to 22 labels. That it stays below for all N is not proved;
    on average over the counts ``sqrt(ln 2 H(counts) / 2N)`` is (labels one after the other, Pinsker's inequality).

    Groups of one size that are alike are exchanged whole, and nothing else is computed of them. Others are not: counts
    of 2 and 1 name every label of a group of two and one apart. Then everything is allowed for.

    Args:
        threat: N, K, and how large the groups are.
        against: The ceiling when so many records change.

    Guarantees:
        ``tests/scores/bounds/test_known_counts.py`` compares with linear programs over all mechanisms.
    """
    alike = groups.alike(threat)
    if alike is None:
        return 1.0
    size, count = alike
    two = max(0.0, against(2 * size) - against(size))
    return two if threat.groups else min(two, (threat.n_classes - 1) * max(1 / (4 * math.sqrt(count)), 1 / count))


def any_score(threat: ThreatModel) -> ScoreThreat | None:
    """Return ``threat`` when something can be said of it, None otherwise, whatever is scored.

    Bounds are asked about every channel; and where a stage has not said what it does, nothing is bounded.
    """
    return threat if isinstance(threat, ScoreThreat) and threat.known else None


def score_threat(threat: ThreatModel) -> ScoreThreat | None:
    """Return ``threat`` when something can be said of it, and what is scored is the mean of a loss, and that alone."""
    told = any_score(threat)
    return told if told is not None and told.metric is None and not told.members else None


def is_open(threat: ScoreThreat) -> bool:
    """Whether any record can be asked about alone, in any way: what a floor of noise is proved of."""
    facts = threat.facts
    return facts.intact and not facts.ladders and math.isinf(facts.lowest) and math.isinf(facts.highest)


def is_of_all(threat: ScoreThreat) -> bool:
    """Whether a label moves a score no further than where all are scored: what noise is proved enough for.

    Of fewer records each counts for more, and so it does behind a factor, or with all that are in its group.
    """
    return threat.averaged is None and threat.magnification == 1 and not threat.groups
