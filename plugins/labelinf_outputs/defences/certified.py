"""What the label-DP mechanisms have in common: how a guarantee enters the threat model."""

from __future__ import annotations

import math

import attrs

from labelinf_outputs.game.output import OutputThreat

__all__ = ["with_label_dp"]


def with_label_dp(threat: OutputThreat, epsilon: float, delta: float = 0.0) -> OutputThreat:
    """Return ``threat`` with a guarantee for everything released.

    Where several mechanisms follow one another, the first one counts: what comes after sees its output only, so all of
    it is post-processing. A later one may be used several times by a stage before it; its own epsilon would then be
    too small. Where labels were mixed across records before, one label touches many of a mechanism's inputs, and
    nothing is certified: a defence that mixes belongs after the mechanism.
    """
    if threat.mixed or not math.isinf(threat.label_epsilon):
        return threat
    return attrs.evolve(threat, label_epsilon=epsilon, label_delta=delta)
