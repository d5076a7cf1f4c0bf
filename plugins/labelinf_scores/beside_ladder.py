"""What the stages beside a Ladder do to the score: told apart, because the Ladder's own error has no bound.

A Ladder may answer with any earlier score, so that the threat model no longer tells how far the score that it compares
may be off. Whoever relies on its rungs, to read labels or to count transcripts, needs just that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from labelinf_scores.game.score import ScoreDefence

if TYPE_CHECKING:
    from labelinf_scores.game.score import ScoreThreat

__all__ = ["beside_ladder"]


def beside_ladder(threat: ScoreThreat) -> ScoreThreat:
    """Return what the adversary would know if the Ladder answered every score.

    Args:
        threat: What is public.

    Returns:
        The same with the noise of all other stages alone. It has no bound unless there is exactly one Ladder: what one
        has rounded, or not answered, the next one takes for the score.
    """
    told, ladders = _bare(threat), 0
    for stage in threat.defences:
        if not isinstance(stage, ScoreDefence):
            continue
        after = stage.effect(told)
        if after.ladder_step > 0:
            ladders += 1
            after = attrs.evolve(after, noise_bound=told.noise_bound, jump=told.jump, ladder_step=0.0)
        told = after
    return told if ladders == 1 else attrs.evolve(told, noise_bound=math.inf)


def _bare(threat: ScoreThreat) -> ScoreThreat:
    """Return ``threat`` without what defences say of the answer; clips and budgets stay, the narrower counts."""
    return attrs.evolve(
        threat,
        decimals=None,
        noise=(),
        noise_bound=0.0,
        noise_std=0.0,
        noise_fresh=False,
        noise_factor=0.0,
        label_keep=1.0,
        jump=0.0,
        answer_epsilon=math.inf,
        magnification=1.0,
        scored=1.0,
        scored_fresh=False,
        averaged=None,
        ladder_step=0.0,
        ordered=True,
    )
