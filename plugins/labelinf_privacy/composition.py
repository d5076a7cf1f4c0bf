"""What many answers give away together, from what each gives away.

======================  ==========================================================================================
basic                   ``q eps`` (Dwork et al., 2006)
advanced                ``eps sqrt(2 q ln(1/delta)) + q eps (e**eps - 1)`` (Dwork, Rothblum and Vadhan, FOCS 2010)
Gaussian                ``mu sqrt(q)``, exactly (Dong, Roth and Su, JRSS B 2022, Corollary 3.3)
Laplace                 the product of q pairs of Laplace densities: :class:`~.laplace_product.LaplaceProduct`
any pure DP             the product of q randomised responses, :class:`PureProduct` (Kairouz et al., ICML 2015)
subsampling             a fresh subset of n of N records: ``1 - (1 - n/N)**q`` is ever scored
======================  ==========================================================================================

All hold for queries that are chosen one after the other, in the light of the answers.

Example:
    >>> round(advanced_epsilon(0.01, 100, 1e-6), 7)
    0.5357023
"""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["PureProduct", "advanced_epsilon", "ever_scored", "sensitivity"]


def sensitivity(span: float, n_records: int) -> float:
    """Return ``L / N``: how far one record's label moves the mean; infinity when the loss is unclipped."""
    return span / n_records


def advanced_epsilon(epsilon: float, queries: int, delta: float) -> float:
    """Return the epsilon that goes with ``delta`` for ``queries`` answers of ``epsilon`` each."""
    return epsilon * math.sqrt(2 * queries * math.log(1 / delta)) + queries * epsilon * math.expm1(epsilon)


def ever_scored(share: float, queries: float) -> float:
    """Return the probability that a record is in one of ``queries`` fresh subsets with ``share`` of the records."""
    return -math.expm1(queries * math.log1p(-share)) if share < 1 else 1.0


@attrs.frozen(kw_only=True, slots=False)
class PureProduct:
    """The profile of ``queries`` answers, each of pure ``epsilon``: exact for the worst such mechanism.

    Every pure mechanism is a post-processing of randomised response, whose privacy loss over q answers is
    ``epsilon (2 X - q)`` with X binomial (Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.3).

    Attributes:
        epsilon: Of one answer, at least 0.
        queries: q, at least 1.
    """

    epsilon: float = attrs.field(validator=attrs.validators.ge(0))
    queries: int = attrs.field(validator=attrs.validators.ge(1))

    def delta(self, epsilon: float) -> float:
        """Return the sum over losses above ``epsilon`` of ``P(loss) (1 - e**(epsilon - loss))``."""
        losses, masses = self._losses
        above = losses > epsilon
        return min(1.0, float(masses[above] @ -np.expm1(epsilon - losses[above])))

    @functools.cached_property
    def _losses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        kept = np.arange(self.queries + 1)
        lost = self.queries - kept
        choices = gammaln(self.queries + 1) - gammaln(kept + 1) - gammaln(lost + 1)
        # Each label is kept with 1 / (1 + e**-eps) and lost with e**-eps / (1 + e**-eps).
        logs = choices - lost * self.epsilon - self.queries * math.log1p(math.exp(-self.epsilon))
        return self.epsilon * (kept - lost).astype(np.float64), np.exp(logs)
