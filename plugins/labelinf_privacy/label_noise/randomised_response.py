"""K-ary randomised response: the simplest label-DP mechanism (Warner, JASA 1965; Kairouz et al., ICML 2016).

A label is kept with probability ``e**eps / (e**eps + K - 1)``, else replaced by another class, each as likely.

Example:
    >>> round(keep_probability(1.0, 2), 7)
    0.7310586
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Weights
from labelinf_privacy.label_noise.exact import ExactLabelNoise, enumerated_epsilon, responses

__all__ = ["RandomisedResponse", "keep_probability"]


def keep_probability(epsilon: float, n_classes: int) -> float:
    """Return ``e**eps / (e**eps + K - 1)``, the probability that a label survives."""
    return 1 / (1 + (n_classes - 1) * math.exp(-epsilon))


@attrs.frozen(kw_only=True)
class RandomisedResponse(ExactLabelNoise):
    """Keeps a label or replaces it by any other.

    Attributes:
        epsilon: Of pure label-DP, at least 0.

    Guarantees:
        Pure label-DP with ``epsilon``, of what is drawn: by enumeration
        (``tests/privacy/test_label_noise.py``).
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    def label_epsilon(self, n_classes: int) -> float:
        """``epsilon``; ``K**2 2**-63`` at most where that is 0 and the words do not divide evenly."""
        return max(self.epsilon, enumerated_epsilon(self.weights(n_classes)))

    def weights(self, n_classes: int) -> Weights:
        """One number on the diagonal and one beside it."""
        keep, lost = responses(self.epsilon, n_classes)
        return tuple(tuple(keep if j == k else lost for j in range(n_classes)) for k in range(n_classes))
