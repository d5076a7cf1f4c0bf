"""Where a defence can stand: what it must not have between itself and the scorer, and which losses it suits."""

from __future__ import annotations

import math

import numpy as np

from labelinf_core.contracts.errors import InputError
from labelinf_scores.game.score import ScoreThreat

__all__ = ["need_nothing_random_nearer", "need_probabilities", "takes_probabilities"]


def takes_probabilities(threat: ScoreThreat) -> bool:
    """Whether the loss takes probabilities, not logits."""
    return threat.loss.fault_of_values(np.array([2.0])) != ""


def need_probabilities(threat: ScoreThreat, name: str) -> None:
    """Refuse a loss on logits.

    Raises:
        InputError: The loss does not take probabilities.
    """
    if not takes_probabilities(threat):
        raise InputError(f"{name} acts on probabilities, but {type(threat.loss).__name__} takes logits.")


def need_nothing_random_nearer(threat: ScoreThreat, name: str) -> None:
    """Refuse stages nearer to the scorer that round, perturb or select: they would act on the wrong thing.

    A stage that asks the next one several times, or about other records, changes what a guarantee given nearer to the
    scorer is worth.

    Raises:
        InputError: There is such a stage.
    """
    plain = (
        threat.decimals is None
        and threat.noise_bound == threat.noise_std == threat.noise_factor == threat.ladder_step == 0
        and threat.label_keep == threat.scored == threat.magnification == 1
        and math.isinf(threat.answer_epsilon)
        and threat.ordered
    )
    if not plain:
        raise InputError(
            f"{name} must stand nearer to the scorer than rounding, noise, randomised response and other subsets; "
            f"move it to the front of the pipeline."
        )
