"""Before anything is planted: how many canaries refute a claim that is false, and how surely.

An attack that gives back every label the model was trained on is right as often as the mechanism keeps labels. The
claim is refuted where the p-value of so many right guesses falls to ``BETA``, so the power is a binomial tail: exact,
for a mechanism that answers every label for itself. A weaker attack has less.

Example:
    >>> from labelinf_outputs.audit.claim import PrivacyClaim
    >>> plan = Power(claim=PrivacyClaim(epsilon=0.3), n_classes=2)
    >>> plan.needed(40), round(plan.of(40, 1.308), 2)
    (29, 0.87)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import attrs
from scipy import special

from labelinf_core.statistics import epsilon_bounds
from labelinf_outputs.audit.claim import PrivacyClaim
from labelinf_privacy.label_noise.resampled_response import effective_epsilon

__all__ = ["SIZES", "Power", "curves", "table"]

SIZES = (20, 50, 100, 200, 500, 1000, 2000)  #: numbers of canaries of a curve


@attrs.frozen(kw_only=True)
class Power:
    """What canaries can show against a claim.

    Attributes:
        claim: What is claimed.
        n_classes: K.
    """

    claim: PrivacyClaim
    n_classes: int

    def needed(self, n_canaries: int) -> int | None:
        """Return how many guesses of all canaries must be right to refute the claim; None when all are too few."""
        return _needed(self.claim, self.n_classes, n_canaries, n_canaries)

    def of(self, n_canaries: int, epsilon: float) -> float:
        """Return how probably the claim is refuted when labels are kept as ``epsilon`` allows; infinity keeps all."""
        keep = epsilon_bounds.label_dp_ceiling(epsilon, self.n_classes)
        return _reached(self.needed(n_canaries), n_canaries, keep)

    def against_twice(self, guesses: int, n_canaries: int, made: int | None = None) -> float:
        """Return how probably ``guesses`` refute the claim of a mechanism that keeps labels as twice its level allows.

        It is randomised response, which is as private as that, and whose every answer the attack reads.

        Args:
            guesses: That count, fixed beforehand.
            n_canaries: All canaries.
            made: How many of them the attack makes, the others can never be right; None: all.
        """
        made = guesses if made is None else made
        if not made:
            return 0.0
        keep = attrs.evolve(self.claim.doubled, delta=0.0).ceiling(self.n_classes)
        return _reached(_needed(self.claim, self.n_classes, guesses, n_canaries), made, keep)

    def truths(self) -> tuple[tuple[str, float], ...]:
        """Return what the mechanism may be in truth, in a word or two, and its epsilon."""
        keep = self.claim.ceiling(self.n_classes)
        if keep == 1:  # in doubles: the claim allows everything
            return (("no noise", math.inf),)
        level = math.log(keep * (self.n_classes - 1) / (1 - keep))  # of randomised response that keeps as much
        resampled = effective_epsilon(level, self.n_classes)
        return (
            (f"{level + 0.5:.2f}", level + 0.5),
            (f"{level + 1:.2f}", level + 1),
            (f"{level + 2:.2f}", level + 2),
            ("resampled", resampled),
            ("no noise", math.inf),
        )


@functools.lru_cache(maxsize=64)
def _needed(claim: PrivacyClaim, n_classes: int, guesses: int, n_canaries: int) -> int | None:
    low, high = guesses // n_classes, guesses + 1  # what chance gives refutes nothing; fewer may, as wrong guesses
    while high - low > 1:
        middle = (low + high) // 2
        p = claim.p_value(middle, guesses, n_classes=n_classes, n_canaries=n_canaries)
        low, high = (low, middle) if p <= epsilon_bounds.BETA else (middle, high)
    return high if high <= guesses else None


def _reached(needed: int | None, guesses: int, keep: float) -> float:
    """Return the probability that ``needed`` guesses are right, each with ``keep``; None cannot be reached."""
    if needed is None or needed > guesses:
        return 0.0
    return float(special.betainc(needed, guesses - needed + 1, keep)) if keep < 1 else 1.0


def curves(plan: Power) -> list[dict[str, Any]]:
    """Return the power curves for a machine: a row for every number of canaries."""
    truths = plan.truths()
    return [
        {"canaries": size, "needed": plan.needed(size), "power": {name: plan.of(size, eps) for name, eps in truths}}
        for size in SIZES
    ]


def table(plan: Power) -> Iterator[str]:
    """Yield the power curves as lines: a row for every number of canaries."""
    truths = plan.truths()
    yield f"Power to refute {plan.claim}, {plan.n_classes} classes, by true epsilon:"
    yield f"{'canaries':>9} {'needed right':>13} " + " ".join(f"{name:>10}" for name, _ in truths)
    for size in SIZES:
        needed = plan.needed(size)
        powers = " ".join(f"{plan.of(size, epsilon):10.0%}" for _, epsilon in truths)
        yield f"{size:9} {'none suffice' if needed is None else needed:>13} {powers}"
    yield "resampled: keeps a label as claimed, but else draws from all classes,"
    yield "not from the others. An attack that misses trained labels has less power."
