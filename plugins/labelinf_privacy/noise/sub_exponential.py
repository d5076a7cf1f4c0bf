"""Sub-exponential noise: ``E exp(sY) <= exp(lambda^2 s^2 / 2)`` for ``|s| < 1 / nu``, and the error it forces.

``P(|Y| > t) <= 2 exp(-min(t^2/lambda^2, t/nu) / 2)`` (Aggarwal et al., ICML 2021, Lemma 8), so that all but a
probability delta stays within ``max(lambda sqrt(2 ln(2/delta)), 2 nu ln(2/delta))``. The paper's Theorem 10
simplifies that to ``2 (lambda + nu) sqrt(ln(2/delta))``, which is too small once ``ln(2/delta)`` exceeds
``(1 + lambda/nu)^2`` (erratum I-17): Laplace noise of scale 1 exceeds it with probability more than ``delta = e^-39``.

Example:
    >>> round(threshold(4, 4, 0.1), 2), round(printed_threshold(4, 4, 0.1), 2)
    (23.97, 20.77)
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel
from labelinf_core.contracts.gate import positive

__all__ = ["SubExponential", "printed_threshold", "tail_probability", "threshold"]

_LAPLACE = 4 * math.log(2)  # Laplace noise of scale 1 is subE(4 ln 2, sqrt 2): -ln(1 - x) <= 2 ln 2 x for x <= 1/2


def tail_probability(lambda_squared: float, nu: float, t: float) -> float:
    """Return the bound of ICML 2021, Lemma 8, on the probability that the noise exceeds ``t`` in absolute value."""
    return 2 * math.exp(-min(t * t / lambda_squared, t / nu) / 2)


def threshold(lambda_squared: float, nu: float, delta: float) -> float:
    """Return a tau with ``P(|Y| > tau) <= delta``: the repaired ICML 2021, Theorem 10."""
    needed = math.log(2 / delta)
    return max(math.sqrt(2 * lambda_squared * needed), 2 * nu * needed)


def printed_threshold(lambda_squared: float, nu: float, delta: float) -> float:
    """Return the tau printed in ICML 2021, Theorem 10, for the record: too small for small ``delta``."""
    return 2 * (math.sqrt(lambda_squared) + nu) * math.sqrt(math.log(2 / delta))


@attrs.frozen(kw_only=True)
class SubExponential(NoiseModel):
    """Noise of which the adversary knows no more than that it is subE(lambda^2, nu).

    What is drawn is the widest Laplace noise of that kind, of scale ``min(lambda / (2 sqrt(ln 2)), nu / sqrt 2)``.

    Attributes:
        lambda_squared: Variance proxy, in squared units of the score, more than 0.
        nu: Reciprocal of the range of the exponent, in units of the score, more than 0.
    """

    lambda_squared: float = attrs.field(default=1e-4, validator=positive)
    nu: float = attrs.field(default=0.01, validator=positive)

    @property
    def _scale(self) -> float:
        return min(math.sqrt(self.lambda_squared / _LAPLACE), self.nu / math.sqrt(2))

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent values, shape ``(size,)``."""
        return rng.laplace(0.0, self._scale, size)

    @property
    def std(self) -> float:
        """Of what is drawn; at most lambda."""
        return math.sqrt(2) * self._scale

    def tail(self, delta: float) -> float:
        """The repaired threshold, for every distribution of the kind."""
        return threshold(self.lambda_squared, self.nu, delta)
