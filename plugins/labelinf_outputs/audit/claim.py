"""The label-DP that is claimed of a model, and what committed guesses prove against it."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.guarantees import Interval
from labelinf_core.statistics import epsilon_bounds
from labelinf_core.statistics.both_tails import WRONG_SHARE, both_tails_epsilon, both_tails_p_value
from labelinf_core.statistics.profiles import GaussianProfile
from labelinf_core.statistics.proportions import clopper_pearson

__all__ = ["EpsilonProof", "PrivacyClaim"]


@attrs.frozen(kw_only=True)
class EpsilonProof:
    """What one run proves by guesses that were committed to.

    Attributes:
        level: Lower bound of what is claimed (epsilon, or the mu of Gaussian DP) at error probability ``BETA``.
        guesses: Guesses that count.
        correct: How many of them are right.
        wrong: How many are wrong; the rest were not made.
        share: Right ones among those, with the interval at 95 %; None without any. For pure DP ``level`` is above 0
            wherever that lies above chance.
        provable: What so many guesses would have proved, had all been right.
    """

    level: float
    guesses: int
    correct: int
    wrong: int
    share: Interval | None
    provable: float


@attrs.frozen(kw_only=True)
class PrivacyClaim:
    """The label-DP that is claimed: (epsilon, delta), or mu-Gaussian.

    Attributes:
        epsilon: Infinity without a claim.
        delta: The delta that goes with it.
        mu: Of Gaussian DP (Dong, Roth and Su, JRSS B 2022), instead of epsilon; infinity otherwise.
    """

    epsilon: float = math.inf
    delta: float = 0.0
    mu: float = math.inf

    @property
    def gaussian(self) -> bool:
        """Whether it is a claim of Gaussian DP."""
        return math.isfinite(self.mu)

    @property
    def made(self) -> bool:
        """Whether anything is claimed."""
        return math.isfinite(self.level)

    @property
    def symbol(self) -> str:
        """What is claimed and proved: ``epsilon`` or ``mu``."""
        return "mu" if self.gaussian else "epsilon"

    @property
    def level(self) -> float:
        """Its value."""
        return self.mu if self.gaussian else self.epsilon

    @property
    def doubled(self) -> PrivacyClaim:
        """The claim of twice its level."""
        return attrs.evolve(self, mu=2 * self.mu) if self.gaussian else attrs.evolve(self, epsilon=2 * self.epsilon)

    @property
    def exact(self) -> bool:
        """Whether the number of right guesses is binomial at worst: pure DP. Otherwise rare disasters are allowed."""
        return self.delta == 0 and not self.gaussian

    def __str__(self) -> str:
        return f"{self.symbol} = {self.level:g}" + (f", delta = {self.delta:g}" if self.delta else "")

    def ceiling(self, n_classes: int) -> float:
        """Return the largest share of uniform labels that any attack can expect to guess."""
        if not self.gaussian:
            return epsilon_bounds.label_dp_ceiling(self.epsilon, n_classes, self.delta)
        low, high, privacy = 0.0, 1.0, GaussianProfile(self.mu)
        for _ in range(60):
            middle = (low + high) / 2
            allowed = (n_classes - 1) * privacy.least(middle) <= 1 - middle
            low, high = (middle, high) if allowed else (low, middle)
        return high

    def p_value(self, correct: int, guesses: int, *, n_classes: int, n_canaries: int) -> float:
        """Return a p-value of the claim, of so many right guesses of all that count: ``BETA`` at most refutes it."""
        if self.exact:
            return both_tails_p_value(correct, guesses, self.epsilon, n_classes=n_classes)
        if self.gaussian:
            p = epsilon_bounds.mu_p_value(correct, guesses, self.mu, n_classes=n_classes, n_canaries=n_canaries)
        else:
            p = epsilon_bounds.claim_p_value(
                correct, guesses, self.epsilon, n_classes=n_classes, delta=self.delta, n_canaries=n_canaries
            )
        return min(p / (1 - WRONG_SHARE), 1.0)

    def proved(self, correct: int, wrong: int, guesses: int, *, n_classes: int, n_canaries: int) -> float:
        """Return the epsilon or mu that so many guesses prove: as many right ones, or as many wrong ones.

        Pure DP bounds both tails together (:mod:`labelinf_core.statistics.both_tails`). Where disasters are allowed,
        right guesses have the larger part of ``BETA`` and wrong ones the rest
        (:mod:`labelinf_core.statistics.epsilon_bounds`): a false proof is one of two events, of BETA together.

        Args:
            correct: Right guesses.
            wrong: Wrong ones.
            guesses: All that count, those that were not made among them.
            n_classes: K.
            n_canaries: m.
        """
        if self.exact:
            return both_tails_epsilon(correct, correct + wrong, n_classes=n_classes)
        known: dict[str, Any] = {"n_classes": n_classes, "n_canaries": n_canaries}
        if not self.gaussian:
            known["delta"] = self.delta
        bound = epsilon_bounds.mu_lower_bound if self.gaussian else epsilon_bounds.epsilon_lower_bound
        by_right = bound(correct, guesses, beta=(1 - WRONG_SHARE) * epsilon_bounds.BETA, **known)
        return max(by_right, bound(wrong, guesses, wrong=True, beta=WRONG_SHARE * epsilon_bounds.BETA, **known))

    def proof(self, ranked: NDArray[np.bool_], guesses: int, *, n_classes: int, n_canaries: int) -> EpsilonProof:
        """Return what the surest guesses of a run prove; how many is fixed beforehand, so that nothing is corrected.

        Args:
            ranked: Whether each guess is right, surest first, abstentions left out.
            guesses: How many count. Against a claim that allows disasters, those of them that were not made are neither
                right nor wrong: how many guesses are made may be what a disaster tells.
            n_classes: K.
            n_canaries: All canaries.
        """
        counted = ranked[:guesses]
        correct, made = int(counted.sum()), counted.size
        counting = made if self.exact else guesses
        known = {"n_classes": n_classes, "n_canaries": n_canaries}
        return EpsilonProof(
            level=self.proved(correct, made - correct, counting, **known),
            guesses=counting,
            correct=correct,
            wrong=made - correct,
            share=clopper_pearson(correct, made) if made else None,
            provable=self.proved(guesses, 0, guesses, **known),
        )
