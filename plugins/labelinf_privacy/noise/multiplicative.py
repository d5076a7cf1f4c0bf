"""Multiplicative noise: the score is released times a factor in ``[1 - alpha, 1 + alpha]``.

Powers of two in base 3 with ``tau = 2 ln 2 * alpha`` survive it for ``floor(log2(1/alpha) - 2)`` labels a query
(Aggarwal et al., ICML 2021, Theorem 11; the printed ceiling fails, erratum I-18). Proof with floor: the largest score
is at most ``ln 2 (1 + ln 3)``, its disturbance at most ``alpha ln 2 (1 + ln 3) < 2 ln 2 ln 3 alpha``, half of what
the construction separates.

No alpha < 1 is a barrier (erratum I-19). With gaps ``2**i step`` the scores are ``base + j * step / N`` for
``j < 2**m``, and as the step grows the base does not. The intervals ``(1 ± alpha) * score`` of neighbours then stay
apart iff ``(1 + alpha)(2**m - 2) < (1 - alpha)(2**m - 1)``, that is ``2**m < (1 + 3 alpha) / (2 alpha)``: one label
survives whatever alpha.

Example:
    >>> labels_per_query(1 / 8), labels_with_large_steps(1 / 8), labels_with_large_steps(0.9)
    (1, 2, 1)
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import NoiseModel

__all__ = ["Multiplicative", "labels_per_query", "labels_with_large_steps", "printed_labels_per_query"]


def labels_per_query(alpha: float) -> int:
    """Return ``floor(log2(1/alpha) - 2)``: the repaired ICML 2021, Theorem 11, for ``0 < alpha <= 1/8``.

    Exact: the largest m with ``2**(m + 2) * alpha <= 1``.

    Raises:
        ValueError: ``alpha`` is out of range.
    """
    if not 0 < alpha <= 1 / 8:
        raise ValueError(f"alpha={alpha} must be in (0, 1/8].")
    return (math.floor(1 / Fraction(alpha)).bit_length() - 1) - 2


def printed_labels_per_query(alpha: float) -> int:
    """Return ``ceil(log2(1/alpha) - 2)`` as printed, for the record: one label too many."""
    exact_power = Fraction(alpha) * 2 ** (labels_per_query(alpha) + 2) == 1
    return labels_per_query(alpha) + (0 if exact_power else 1)


def labels_with_large_steps(alpha: float) -> int:
    """Return the largest m with ``2**m < (1 + 3 alpha) / (2 alpha)``, for ``0 < alpha < 1``; at least 1.

    Raises:
        ValueError: ``alpha`` is out of range.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} must be in (0, 1).")
    limit = (1 + 3 * Fraction(alpha)) / (2 * Fraction(alpha))
    return (math.ceil(limit) - 1).bit_length() - 1


@attrs.frozen(kw_only=True)
class Multiplicative(NoiseModel):
    """A factor, uniform on ``[1 - alpha, 1 + alpha]``.

    Attributes:
        alpha: Largest relative error, in [0, 1).
    """

    multiplicative = True

    alpha: float = attrs.field(default=0.01, validator=[attrs.validators.ge(0), attrs.validators.lt(1)])

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` independent factors, shape ``(size,)``."""
        return rng.uniform(1 - self.alpha, 1 + self.alpha, size)

    @property
    def bound(self) -> float:
        """Alpha."""
        return self.alpha

    @property
    def std(self) -> float:
        """``alpha / sqrt(3)``, of the factor."""
        return self.alpha / math.sqrt(3)

    def tail(self, delta: float) -> float:
        """``alpha (1 - delta)``, exactly the quantile."""
        return self.alpha * (1 - delta)
