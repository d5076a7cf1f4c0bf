"""What a loss oracle really gives: the class whose ``-ln p_k`` is the loss that was shown.

If a record's probabilities and its log-loss are both visible, its label is ``argmin_k |-ln p_k - l|``, exactly unless
two classes are equally probable (Aggarwal et al., ICML 2021, for one record). Nothing need have been memorised: it is
as right on labels that the model never saw.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_outputs.attacks.answering import AbstainingAttack, best_class, lead
from labelinf_outputs.game.output import OutputOracle, OutputThreat

__all__ = ["LossInversion", "fit_of_losses"]

Floats = NDArray[np.float64]


def fit_of_losses(log_probabilities: Floats, losses: Floats) -> Floats:
    """Return how well every class explains the loss: ``-|-ln p_k - l|``, shape ``(n, K)``; 0 is exact."""
    return np.asarray(-np.abs(-log_probabilities - losses[:, None]))


@attrs.frozen(kw_only=True)
class LossInversion(AbstainingAttack):
    """Reads the label from its loss.

    Attributes:
        abstain: Share of the canaries on which it declines, in [0, 1).
    """

    def missing_requirement(self, threat: OutputThreat) -> str:
        """It needs losses."""
        return "" if threat.view.reveals_label else "needs losses, which the declared view does not show"

    def run(self, oracle: OutputOracle, rng: np.random.Generator) -> Guess:
        """Guess the class that explains the loss best."""
        release = oracle.query()
        losses = np.zeros(oracle.threat.n_records) if release.losses is None else release.losses
        fits = fit_of_losses(release.log_probabilities, np.nan_to_num(losses))
        return self.answer(best_class(fits), lead(fits))
