"""LIA-Delta-Margin (Khan et al., BLIA, 2025, Algorithm 5.2), as published: class 1 wherever ``alpha m - beta l > 0``.

``m = p_1 - SecondHighest(p)`` is ``max(0, 2 p_1 - 1)`` for two classes, never negative, and ``l`` is the loss of the
record. The paper gives neither alpha nor beta.

The loss is computed with the label that is to be inferred, so the attack reads the answer from its input. Where
``p_1 <= 1/2`` it always says 0. Where the label is 0 and ``beta/alpha`` is at least :data:`CERTAIN_RATIO` it is always
right, whatever the model; where the label is 1 it is right when ``2 p_1 - 1 > -(beta/alpha) ln p_1``. On labels that
the model never saw it scores about 3/4 for a balanced, confident model. It is kept as a baseline and as a test of the
placebo, which catches it.

Example:
    >>> round(CERTAIN_RATIO, 7)
    0.3733646
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack
from labelinf_outputs.game.output import OutputOracle, OutputThreat

__all__ = ["CERTAIN_RATIO", "DeltaMargin", "margin", "scores"]

Floats = NDArray[np.float64]

CERTAIN_RATIO = 0.373364617701674
"""Largest ``(2 p - 1) / (-ln(1 - p))``, taken at p = 0.8133: from this ``beta/alpha`` on every label 0 is guessed."""


def margin(probabilities: Floats) -> Floats:
    """Return the published margin ``p_1 - SecondHighest(p)``, shape ``(n,)``."""
    return np.asarray(probabilities[:, 1] - np.sort(probabilities, axis=1)[:, -2])


def scores(probabilities: Floats, losses: Floats, alpha: float, beta: float) -> Floats:
    """Return ``alpha m - beta l``, shape ``(n,)``."""
    return np.asarray(alpha * margin(probabilities) - beta * losses)


@attrs.frozen(kw_only=True)
class DeltaMargin(AbstainingAttack):
    """Guesses from the margin and the loss; two classes only.

    Attributes:
        alpha: Weight of the margin, above 0.
        beta: Weight of the loss, above 0.
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    alpha: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    beta: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs losses, and two classes."""
        if threat.n_classes != 2:
            return "defined for two classes only"
        return "" if threat.view.reveals_label else "needs losses, which the declared view does not show"

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Guess by the sign of the score; its size is the confidence."""
        release = oracle.query()
        losses = np.zeros(oracle.threat.n_records) if release.losses is None else release.losses
        found = scores(release.probabilities, losses, self.alpha, self.beta)
        return self.answer(np.asarray(found > 0, dtype=np.intp), np.abs(found))
