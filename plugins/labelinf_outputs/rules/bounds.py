"""Rules for bounds of the model-output channel: no guess beats a ceiling where all that is seen can be enumerated.

A model that forgets nothing shows the answers of its mechanism. Two mechanisms are enumerated: randomised response, and
one that tells the label outright with probability delta. The best guess of all is a sum over what they may answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Rule
from labelinf_core.testing.bounds import RULES as ALL
from labelinf_core.testing.bounds import never_contradicted, speaks_of
from labelinf_outputs.game.effects import Randomised, Retrained
from labelinf_outputs.game.output import OutputThreat
from labelinf_outputs.rules import attacks

__all__ = ["RULES"]

_SHARES = ((0.5, 0.5), (0.8, 0.2), (0.25, 0.25, 0.25, 0.25), (0.6, 0.2, 0.1, 0.1))
_RECORDS = 3


def _answers(epsilon: float, delta: float, n_classes: int) -> NDArray[np.float64]:
    """Return how likely every answer is for every label, answers that tell it outright last."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + n_classes - 1)
    response = np.full((n_classes, n_classes), (1 - keep) / (n_classes - 1))
    np.fill_diagonal(response, keep)
    return np.hstack([(1 - delta) * response, delta * np.eye(n_classes)])


def _games() -> Iterator[tuple[OutputThreat, float]]:
    """Yield games and the accuracy of the best guess of all."""
    for shares, epsilon, delta, uses in itertools.product(_SHARES, (0.1, 1.0, 3.0), (0.0, 0.05), (1, 2)):
        effects = (Retrained(times=uses), Randomised(epsilon=epsilon, delta=delta))
        threat = OutputThreat(
            n_records=_RECORDS, n_classes=len(shares), prior=shares, n_training=_RECORDS, effects=effects
        )
        once = _answers(epsilon, delta, len(shares))
        seen = once if uses == 1 else (once[:, :, None] * once[:, None, :]).reshape(len(once), -1)
        best = float((np.array(shares)[:, None] * seen).max(axis=0).sum())
        yield threat, best


RULES: tuple[Rule, ...] = (
    *ALL,
    speaks_of(attacks.RULES.threats),
    never_contradicted(_games),
)  #: what every bound of this channel is held to
