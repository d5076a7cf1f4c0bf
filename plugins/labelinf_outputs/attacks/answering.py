"""From scores to an answer: the class with the largest score, how sure that is, and abstention."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN, Guess
from labelinf_outputs.game.output import OutputAttack

__all__ = ["AbstainingAttack", "best_class", "lead"]

Floats = NDArray[np.float64]


def best_class(scores: Floats) -> NDArray[np.intp]:
    """Return the class with the largest score, shape ``(n,)``; the highest class among equals."""
    last = scores.shape[1] - 1
    return np.asarray(last - scores[:, ::-1].argmax(axis=1), dtype=np.intp)


def lead(scores: Floats) -> Floats:
    """Return by how much the largest score exceeds the second, shape ``(n,)``."""
    top = np.sort(scores, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


@attrs.frozen(kw_only=True)
class AbstainingAttack(OutputAttack):
    """An attack that may decline to guess where it is least sure.

    Attributes:
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    abstain: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0), attrs.validators.lt(1)])

    def answer(self, labels: NDArray[np.intp], confidence: Floats, **evidence: Any) -> Guess:
        """Return the guess, without the least confident ones."""
        declined = int(self.abstain * labels.size)
        given = labels.copy()
        given[np.argsort(confidence, kind="stable")[:declined]] = ABSTAIN
        return Guess(labels=given, confidence=confidence, evidence=evidence)
