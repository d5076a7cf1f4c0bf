"""A reference-free quantile attack for labels (after Bertran et al., NeurIPS 2023).

No model is trained by the adversary. What the victim says of a record is its opinion of the *record*, which varies
smoothly with the features, and what it remembers of the *label*, which does not. A quantile regression on the victim's
own log-odds gives the opinion: the conditional quantile given the features, estimated by the nearest neighbours among
the other canaries (Stone, Annals of Statistics 1977). The class that exceeds its quantile by most is guessed.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.attacks.lira import log_odds
from labelinf_outputs.game.output import OutputOracle, OutputThreat

__all__ = ["Quantile", "conditional_quantile"]

Floats = NDArray[np.float64]

_TIE = 1e-6
_LARGEST = 40.0  # log-odds beyond this say no more


def conditional_quantile(values: Floats, features: Floats, level: float, neighbours: int) -> Floats:
    """Return the quantile of every value given its features, among the nearest others, shape ``(n, K)``.

    Args:
        values: Shape ``(n, K)``.
        features: Shape ``(n, d)``; every feature counts by its standard deviation.
        level: Of the quantile, in (0, 1).
        neighbours: How many others are looked at, fewer where there are fewer.
    """
    spread = features.std(axis=0)
    scaled = features[:, spread > 0] / spread[spread > 0]
    near = min(neighbours, len(values) - 1)
    if near < 1 or not scaled.size:
        return np.broadcast_to(np.quantile(values, level, axis=0), values.shape)
    _, rows = cKDTree(scaled).query(scaled, k=near + 1)
    others = rows[:, 1:]  # the first is the record itself, or one that cannot be told from it
    return np.asarray(np.quantile(values[others], level, axis=1))


@attrs.frozen(kw_only=True)
class Quantile(AbstainingAttack):
    """Guesses the class that the model favours more than it does for records like this one; needs features.

    Attributes:
        level: Of the quantile, in (0, 1).
        neighbours: Records like this one that are looked at.
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    level: float = attrs.field(default=0.5, validator=[attrs.validators.gt(0), attrs.validators.lt(1)])
    neighbours: int = attrs.field(default=15, validator=attrs.validators.ge(1))

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs the canaries' features."""
        return "" if threat.view.features else "needs features, which the declared view does not show"

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Compare with the quantile; the lead of the best class is the confidence."""
        release = oracle.query()
        said = np.clip(log_odds(release.log_probabilities), -_LARGEST, _LARGEST)
        features = np.asarray(release.features, dtype=np.float64)
        gains = said - conditional_quantile(said, features, self.level, self.neighbours)
        gains += _TIE * said  # a model that is certain of everything equals its quantile: then its word stands
        return self.answer(best_class(gains), lead(gains))
