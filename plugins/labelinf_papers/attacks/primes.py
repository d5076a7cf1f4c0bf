"""Distinct primes in one exact query (Aggarwal et al., ICML 2021, Theorem 1).

The answer spells out the product of the primes of all records with label 1. It is asked for with as many bits as that
product can have, and about twenty more; one exponential, one rounding and one remainder tree give every label.

Example, any number of labels in one query::

    labelinf attack primes --labels y.csv --scorer exact
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from labelinf_papers.attacks.prime_powers import PrimePowers
from labelinf_scores.constructions.primes import prime_predictions
from labelinf_scores.game.threat import ScoreThreat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Primes"]


@attrs.frozen(kw_only=True)
class Primes(PrimePowers):
    """Recovers all labels of two classes from one exact score."""

    theorem: ClassVar[str] = "Theorem 1"

    def missing_requirement(self, threat: ScoreThreat) -> str:
        """It needs two classes, the log-loss, exact scores, and no clipping that reaches its predictions."""
        if threat.n_classes != 2:
            return "Theorem 1 is for two classes; prime-powers serves more"
        return super().missing_requirement(threat)

    def rows(self, primes: NDArray[np.int64], n_classes: int) -> NDArray[Any]:
        """Return the prediction vector of Theorem 1."""
        return prime_predictions(primes)
