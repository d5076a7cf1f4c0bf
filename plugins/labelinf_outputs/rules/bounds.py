"""Rules for bounds of the model-output channel: no guess beats a ceiling where all that is seen can be enumerated.

A model that forgets nothing shows the answers of its mechanism. Two mechanisms are enumerated: randomised response, and
one that tells the label outright with probability delta. The best guess of all is a sum over what they may answer.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Bound, Rule
from labelinf_core.testing.bounds import RULES as ALL
from labelinf_core.testing.bounds import speaks_of
from labelinf_core.testing.rules import NotApplicableError, belongs, require
from labelinf_outputs.game.effects import Randomised, Retrained
from labelinf_outputs.game.output import OutputThreat
from labelinf_outputs.rules import attacks

__all__ = ["RULES"]

_SHARES = ((0.5, 0.5), (0.8, 0.2), (0.25, 0.25, 0.25, 0.25), (0.6, 0.2, 0.1, 0.1))
_RECORDS = 3
_SLACK = 1e-9


def _answers(epsilon: float, delta: float, n_classes: int) -> NDArray[np.float64]:
    """Return how likely every answer is for every label, answers that tell it outright last."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + n_classes - 1)
    response = np.full((n_classes, n_classes), (1 - keep) / (n_classes - 1))
    np.fill_diagonal(response, keep)
    return np.hstack([(1 - delta) * response, delta * np.eye(n_classes)])


def _is_never_contradicted(component: Bound) -> None:
    bound, tried = belongs(component, Bound), False
    for shares, epsilon, delta, uses in itertools.product(_SHARES, (0.1, 1.0, 3.0), (0.0, 0.05), (1, 2)):
        effects = (Retrained(times=uses), Randomised(epsilon=epsilon, delta=delta))
        threat = OutputThreat(
            n_records=_RECORDS, n_classes=len(shares), prior=shares, n_training=_RECORDS, effects=effects
        )
        once = _answers(epsilon, delta, len(shares))
        seen = once if uses == 1 else (once[:, :, None] * once[:, None, :]).reshape(len(once), -1)
        best = float((np.array(shares)[:, None] * seen).max(axis=0).sum())
        for item in bound.ceilings(threat):
            tried = True
            require(
                not item.denies(best - _SLACK, best**_RECORDS - _SLACK),
                f"the best guess has {best:.4f}; its ceiling is {item.reached:.4f} ({item.statement})",
            )
    if not tried:
        raise NotApplicableError("it denies nothing in the games that can be searched")


RULES: tuple[Rule, ...] = (
    *ALL,
    speaks_of(attacks.RULES.threats),
    ("is-never-contradicted", _is_never_contradicted),
)  #: what every bound of this channel is held to
