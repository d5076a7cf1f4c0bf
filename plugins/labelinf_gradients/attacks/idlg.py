"""iDLG: the label's row of the gradient points the other way (Zhao et al., 2020; one-hot labels of single samples).

``G_i = (p_i - y_i) x`` with ``p_i - y_i`` negative for the label alone. Where features are non-negative the label's
row sum is the only negative one; where their sign is not known, the label is the row whose sign differs from all
others, which fails when only two entries are not zero (Wang et al., ICLR 2024, Appendix B.3).
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Guess
from labelinf_gradients.attacks.common import one_sample_each
from labelinf_gradients.game.gradient import GradientAttack, GradientOracle, GradientThreat
from labelinf_gradients.recovery.factor import factor

__all__ = ["Idlg", "odd_one_out"]


@attrs.frozen(kw_only=True)
class Idlg(GradientAttack):
    """Guesses the row of the gradient whose sign differs.

    Attributes:
        use_sign: Use it where features are known to be non-negative; otherwise only compare rows with one another.
    """

    use_sign: bool = True

    def missing_requirement(self, threat: GradientThreat) -> str:
        """It reads single samples."""
        return one_sample_each(threat)

    def run(self, oracle: GradientOracle, rng: np.random.Generator) -> Guess:
        """Guess the row of least sum, or the odd one out."""
        gradients = oracle.weight_gradients
        if self.use_sign and oracle.nonnegative:
            return Guess(labels=gradients.sum(axis=2).argmin(axis=1))
        return Guess(labels=odd_one_out(gradients))


def odd_one_out(gradients: NDArray[Any]) -> NDArray[np.intp]:
    """Return the row of every gradient whose sign differs from most others, shape ``(n,)``; the largest one in doubt.

    Args:
        gradients: Last-layer gradients, shape ``(n, C, I)``.
    """
    column = factor(gradients).column
    signs = np.sign(column)
    dissent = -signs * signs.sum(axis=1, keepdims=True)
    # Sizes break ties: they are scaled below one, the distance between two counts.
    size = np.abs(column) / (2 * np.maximum(np.abs(column).max(axis=1, keepdims=True), np.finfo(float).tiny))
    return np.asarray((dissent + size).argmax(axis=1))
