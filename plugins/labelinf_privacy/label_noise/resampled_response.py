"""A common mistake: randomised response that *resamples* a label instead of *replacing* it.

Each label is kept with probability ``p = e^eps / (e^eps + K - 1)`` and otherwise drawn uniformly from all K classes,
the true one included. Then ``P(y -> y) / P(y -> k) = 1 + K e^eps / (K - 1)``: the mechanism is private with

    eps_eff = ln(1 + K e^eps / (K - 1)),        ln(1 + 2 e^eps) for two classes,

and not with the nominal epsilon: 0.3 becomes 1.31.

Example:
    >>> round(effective_epsilon(0.3, n_classes=2), 5)
    1.30826
"""

from __future__ import annotations

import math

import attrs

from labelinf_core.contracts.components import Weights
from labelinf_privacy.label_noise.exact import WORDS, ExactLabelNoise, enumerated_epsilon, responses

__all__ = ["ResampledResponse", "effective_epsilon"]


def effective_epsilon(epsilon: float, n_classes: int) -> float:
    """Return the epsilon that resampling with a nominal ``epsilon`` really has."""
    return math.log1p(n_classes * math.exp(epsilon) / (n_classes - 1))


@attrs.frozen(kw_only=True)
class ResampledResponse(ExactLabelNoise):
    """Keeps a label or draws any class, its own included.

    Attributes:
        epsilon: Nominal, at least 0.
    """

    epsilon: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))

    def label_epsilon(self, n_classes: int) -> float:
        """The epsilon it really has, of its table: :func:`effective_epsilon` to within the rounding of the table."""
        return enumerated_epsilon(self.weights(n_classes))

    def weights(self, n_classes: int) -> Weights:
        """The words that do not keep the label are spread over all classes."""
        keep, _ = responses(self.epsilon, n_classes)
        drawn = (WORDS - keep) // n_classes
        own = WORDS - (n_classes - 1) * drawn
        return tuple(tuple(own if j == k else drawn for j in range(n_classes)) for k in range(n_classes))
