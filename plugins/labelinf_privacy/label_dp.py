"""What label-DP denies to every adversary: the largest share of labels that anyone can guess.

Label-DP compares label vectors that differ in one record. Records are independent, with the class shares as prior; the
adversary may know every other label, and ask as it likes. What it must not know is how many records of each class there
are: then no label vector of those that remain differs in one record. Two records of different classes, told apart by
one answer of mu-Gaussian DP, are guessed with ``Phi(mu)``, not ``Phi(mu / 2)``. With N records that is worth less:
``tests/scores/bounds/test_known_counts.py`` computes how much, at most.

*A ceiling from any privacy profile.* Let ``x_j`` be the probability of guessing right when the label is j, and A the
sum of ``p_j x_j``. Compared with label j, guessing k has ``P_k(k) <= e**eps P_j(k) + delta(eps)``. With ``eps`` such
that ``p_k e**eps = t`` for a level ``t >= max p``, summing over k gives
``A <= t - (t - p_j) x_j + D_j``, ``D_j = sum over k != j of p_k delta(ln(t / p_k))``. Averaged over j with weights
``w_j = p_j / (t - p_j)``:

    A <= sum_j w_j (t + D_j) / (1 + sum_j w_j),      A <= t + D_j for t = p_j = max p.

Two classes: the latter is the Bayes accuracy itself, hence exact. Equal shares: this is the least over eps of
``(e**eps + (K-1) delta) / (e**eps + K - 1)``, the dual of ``A <= 1 - f((1-A)/(K-1))`` for the trade-off function f.

Example:
    >>> round(pure_accuracy(1.0, (0.5, 0.5)), 7)
    0.7310586
    >>> [round(accuracy(GaussianProfile(1.0), (1 / k,) * k), 5) for k in (2, 3, 6, 10)]
    [0.69146, 0.57806, 0.42186, 0.329]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from labelinf_core.statistics.profiles import ApproximateProfile, GaussianProfile, Profile

__all__ = [
    "accuracy",
    "approximate_accuracy",
    "gaussian_accuracy",
    "gaussian_mu_for",
    "likeliest",
    "pure_accuracy",
    "pure_exact",
]

_POINTS = 33
_ROUNDS = 8
_WIDEST = 40.0  # largest eps tried; beyond it the ceiling is one to within 1e-17


def pure_accuracy(epsilon: float, prior: Sequence[float]) -> float:
    """Return the largest accuracy under pure ``epsilon``-label-DP; randomised response on the top classes attains it.

    It is the largest over j of ``e**eps P_(1..j) / (j - 1 + e**eps)``, with ``P_(1..j)`` the sum of the j largest
    shares.
    """
    shares = np.cumsum(sorted(prior, reverse=True))
    others = np.arange(len(shares)) * math.exp(-epsilon)
    return min(1.0, float((shares / (1 + others)).max()))


def likeliest(epsilon: float, share: float) -> float:
    """Return the largest posterior that a class of prior ``share`` can have under pure label-DP.

    Whatever is known of the other labels, the odds of a class grow by ``e**eps`` at most. So, guessed one after the
    other, each label is right with this probability at most (``share`` that of the likeliest class), and the number of
    right ones is stochastically smaller than a binomial: a statement about every single game.
    """
    return share / (share + (1 - share) * math.exp(-epsilon))


def pure_exact(epsilon: float, prior: Sequence[float], n_records: int) -> float:
    """Return the largest probability of guessing all of ``n_records`` independent labels under pure label-DP.

    By the chain rule: given any labels guessed before, the next one is right with :func:`pure_accuracy` at most.
    """
    return pure_accuracy(epsilon, prior) ** n_records


def approximate_accuracy(epsilon: float, delta: float, prior: Sequence[float]) -> float:
    """Return the largest accuracy under (``epsilon``, ``delta``)-label-DP.

    With K equal shares: ``(e**eps + (K-1) delta) / (e**eps + K - 1)``.
    """
    return accuracy(ApproximateProfile(epsilon, delta), prior)


def gaussian_accuracy(mu: float, prior: Sequence[float]) -> float:
    """Return the largest accuracy under mu-Gaussian label-DP; ``Phi(mu / 2)`` for two equal shares."""
    return accuracy(GaussianProfile(mu), prior)


@functools.lru_cache(maxsize=64)
def gaussian_mu_for(target: float, prior: tuple[float, ...]) -> float:
    """Return the mu whose :func:`gaussian_accuracy` is ``target``.

    Raises:
        ValueError: The majority guess already reaches ``target``, or ``target`` is 1 or more.
    """
    if not max(prior) < target < 1:
        raise ValueError(f"target={target} must lie between the majority's share {max(prior)} and 1.")
    high = 1.0
    while gaussian_accuracy(high, prior) < target:
        high *= 2
    return float(scipy.optimize.brentq(lambda mu: gaussian_accuracy(mu, prior) - target, 0.0, high, rtol=1e-10))


def accuracy(profile: Profile, prior: Sequence[float]) -> float:
    """Return an accuracy that no adversary exceeds under the privacy ``profile``.

    Exact for two classes, and for equal shares the best that the profile says; never below the majority guess.

    Args:
        profile: Of everything released.
        prior: Share of every class, length K.

    Guarantees:
        ``tests/privacy/test_label_dp.py`` compares with linear programs over all mechanisms.
    """
    shares = np.array(sorted((share for share in prior if share > 0), reverse=True))
    top = float(shares[0])
    best = top + float(_missed(profile, shares, top)[0])
    if len(shares) <= 2:
        return min(1.0, best)
    low, high = math.log(top), math.log(top) + _WIDEST
    for _ in range(_ROUNDS):
        levels = np.linspace(low, high, _POINTS)
        values = [_averaged(profile, shares, math.exp(level)) for level in levels[1:]]
        lowest = int(np.argmin(values))
        best = min(best, values[lowest])
        low, high = levels[lowest : lowest + 3][[0, -1]]
    return min(1.0, best)


def _missed(profile: Profile, shares: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return ``D_j`` for every j: what lies beyond the level in all classes but j."""
    beyond = np.array([share * profile.delta(math.log(level / share)) for share in shares], dtype=np.float64)
    return np.asarray(beyond.sum() - beyond)


def _averaged(profile: Profile, shares: NDArray[np.float64], level: float) -> float:
    weights = shares / (level - shares)
    return float(weights @ (level + _missed(profile, shares, level)) / (1 + weights.sum()))
