"""Privacy profiles: how much of an answer's probability exceeds ``e**eps`` times that of a neighbouring data set.

A mechanism is (eps, delta(eps))-DP for every eps at once; ``delta`` as a function of eps is its *profile*, and
everything else follows from it: trade-off functions, composition, and what an adversary can guess (Balle, Barthe and
Gaboardi, 2018; Zhu, Dong and Wang, AISTATS 2022). Negative eps count too, as every profile here is of a symmetric pair.

Example:
    >>> from labelinf_core.statistics.profiles import GaussianProfile, gaussian_mu
    >>> round(GaussianProfile(1.0).delta(0.0), 7)
    0.3829249
    >>> round(gaussian_mu(1.0, 1e-6), 6)
    0.236704
"""

from __future__ import annotations

import math
from typing import Protocol

import attrs
from scipy import special

__all__ = ["ApproximateProfile", "GaussianProfile", "Profile", "gaussian_mu", "normal_cdf", "normal_quantile"]

_ROOT_2 = math.sqrt(2)


def normal_cdf(x: float) -> float:
    """Return Phi(x), accurate in both tails."""
    return math.erfc(-x / _ROOT_2) / 2


def normal_quantile(probability: float) -> float:
    """Return the x with Phi(x) = ``probability``."""
    return float(special.ndtri(probability))


class Profile(Protocol):
    """The privacy profile of a pair of neighbouring answers (or of everything released)."""

    def delta(self, epsilon: float) -> float:
        """Return the profile at any real eps, in [0, 1]; at least ``1 - exp(eps)``."""


@attrs.frozen
class ApproximateProfile:
    """The profile of (``epsilon``, ``at``)-DP: the worst mechanism that it allows (Kairouz, Oh and Viswanath, 2015).

    With probability ``at`` that mechanism tells the label; else it answers by randomised response.

    Attributes:
        epsilon: At least 0.
        at: The delta that goes with it, in [0, 1]; 0 for pure DP.
    """

    epsilon: float
    at: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Return ``at + (1 - at) (e**E - e**eps) / (1 + e**E)`` within the range of E, the limits beyond it."""
        if epsilon >= self.epsilon:
            return self.at
        if epsilon <= -self.epsilon:
            return self.at - (1 - self.at) * math.expm1(epsilon)
        # Divided by e**E, so that nothing overflows.
        share = -math.expm1(epsilon - self.epsilon) / (1 + math.exp(-self.epsilon))
        return self.at + (1 - self.at) * share

    def least(self, probability: float) -> float:
        """Return the least probability of an event under a neighbour of what gives it ``probability``."""
        # Beyond e**700, which is a double, only probability 1 is left: the same comes out.
        other = 1 - self.at - (1 - probability) * math.exp(min(self.epsilon, 700)) if probability > 0 else 0.0
        return max((probability - self.at) * math.exp(-self.epsilon), other, 0.0)


@attrs.frozen
class GaussianProfile:
    """The profile of mu-Gaussian DP: of telling N(0, 1) from N(mu, 1) (Dong, Roth and Su, JRSS B 2022).

    Attributes:
        mu: At least 0; infinity when nothing is protected.
    """

    mu: float

    def delta(self, epsilon: float) -> float:
        """Return ``Phi(-eps/mu + mu/2) - e**eps Phi(-eps/mu - mu/2)`` (Balle and Wang, ICML 2018, Theorem 8)."""
        if self.mu == 0:
            return max(0.0, -math.expm1(epsilon))
        if math.isinf(self.mu):
            return 1.0
        ratio = epsilon / self.mu
        beyond = normal_cdf(-ratio - self.mu / 2)
        scaled = math.exp(epsilon + math.log(beyond)) if beyond > 0 else 0.0
        return max(0.0, normal_cdf(-ratio + self.mu / 2) - scaled)

    def least(self, probability: float) -> float:
        """Return the least probability of an event under a neighbour, ``Phi(Phi^-1(probability) - mu)``."""
        if probability <= 0 or math.isinf(self.mu):
            return 0.0
        return normal_cdf(normal_quantile(min(probability, 1.0)) - self.mu)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-Gaussian DP is (``epsilon``, ``delta``)-DP, by bisection."""
    low, high = 0.0, 1.0
    while GaussianProfile(high).delta(epsilon) < delta:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianProfile(middle).delta(epsilon) <= delta else (low, middle)
    return low
