"""Right guesses and wrong ones in one test of pure label-DP: the worst law of both tails together.

Too many right guesses refute an epsilon, and so do too few. Giving each tail a part of the error probability pays for
events that hardly go together: a mechanism that is often right is hardly ever always wrong.

**The worst law.** m labels are uniform over K classes, a mechanism answers once, r of them are guessed, N guesses are
right. Given the answer, two sets of labels that differ in one place have posterior odds of at most ``e^eps``: other
labels are summed over, which keeps that. So does averaging over all orders of the guessed labels and of the wrong
classes, and it leaves the law of N alone. Then the posterior is a function q of N, with
``e^-eps <= q(n + 1) / q(n) <= e^eps``, and

    P[N = n] proportional to C(r, n) (K - 1)^(r - n) q(n).

``N >= right or N <= few`` is most probable where q grows by ``e^eps`` a step above ``right`` and below ``few``, and is
the least between them that its steps allow: the larger of two exponentials, which meet at some count. Between whole
counts the probability is a ratio of linear functions of the level of one exponential, so it is largest at a whole one.
That is a law for each vertex: above it the binomial of ``e^eps / (e^eps + K - 1)``, below it the one of ``-eps``.

**The order of the counts.** A count is as telling as the larger of the two epsilons that it proves, by right guesses at
two thirds of the error probability or by wrong ones at a third. That order is fixed beforehand, and the larger epsilon
is, the more laws are possible: the largest epsilon that makes so telling a count as improbable as beta is too large
with probability beta at most. It never proves less than the two bounds that the order is made of.

Example:
    >>> round(both_tails_epsilon(200, 200, n_classes=2), 2)
    4.19
    >>> round(both_tails_epsilon(0, 200, n_classes=2), 2)
    4.19
    >>> round(both_tails_p_value(130, 200, 0.25, n_classes=2), 3)
    0.007
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelinf_core.statistics.epsilon_bounds import BETA

__all__ = ["WRONG_SHARE", "both_tails_epsilon", "both_tails_p_value"]

WRONG_SHARE = 1 / 3  #: of the error probability, for wrong guesses
_HALVINGS = 40
_LARGEST = 64.0


def both_tails_p_value(correct: int, guesses: int, epsilon: float, *, n_classes: int) -> float:
    """Return how probable so telling a number of right guesses is at most, by one tail or the other.

    Args:
        correct: Right guesses.
        guesses: Guesses made.
        epsilon: Of label-DP, at least 0.
        n_classes: K.

    Guarantees:
        The optimum over all laws that are possible (``tests/statistics/test_both_tails.py``, by linear programming).
    """
    if not guesses or epsilon >= _LARGEST:  # in doubles, nothing is improbable there
        return 1.0
    few, right = _as_telling(correct, guesses, n_classes)
    if right <= few + 1:
        return 1.0
    low, high = (1 / (1 + (n_classes - 1) * math.exp(-level)) for level in (-epsilon, epsilon))
    vertex = np.arange(few, right + 1)
    # How much heavier the branch that rises is than the one that falls, where they meet at the vertex.
    scale = np.logaddexp(math.log(n_classes - 1), epsilon) - np.logaddexp(math.log(n_classes - 1), -epsilon)
    rising = special.expit(guesses * scale - 2 * epsilon * vertex)
    told = rising * special.bdtrc(right - 1, guesses, high) if right <= guesses else np.zeros(vertex.size)
    told = told + (1 - rising) * _at_most(np.array(few), guesses, low)
    above = np.where(vertex < 0, 1.0, special.bdtrc(np.clip(vertex, 0, guesses).astype(float), guesses, high))
    whole = rising * above + (1 - rising) * _at_most(vertex, guesses, low)
    return float(np.minimum(told / whole, 1.0).max())


def both_tails_epsilon(correct: int, guesses: int, *, n_classes: int) -> float:
    """Return the epsilon that right and wrong guesses prove together; 0 when they prove none.

    Args:
        correct: Right guesses.
        guesses: Guesses made.
        n_classes: K.

    Guarantees:
        Too high with probability at most ``BETA``, under every law that is possible (exact, for each of them:
        ``tests/statistics/test_both_tails.py``).
    """
    low, high = 0.0, _LARGEST
    if both_tails_p_value(correct, guesses, low, n_classes=n_classes) > BETA:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        refuted = both_tails_p_value(correct, guesses, middle, n_classes=n_classes) <= BETA
        low, high = (middle, high) if refuted else (low, middle)
    return low


def _at_most(count: NDArray[np.intp], guesses: int, share: float) -> NDArray[np.float64]:
    """Return ``P[Bin(guesses, share) <= count]``, for counts from -1."""
    inside = np.clip(count, 0, guesses)
    return np.where(count < 0, 0.0, special.bdtr(inside.astype(float), guesses, share))


def _as_telling(correct: int, guesses: int, n_classes: int) -> tuple[int, int]:
    """Return the largest small count and the smallest large one that tell as much; -1 and ``guesses + 1``: none."""
    levels = _levels(guesses, n_classes)
    least = levels[:, correct].max()
    up, down = levels >= least
    return int(down.sum()) - 1, guesses + 1 - int(up.sum())


@functools.lru_cache(maxsize=64)
def _levels(guesses: int, n_classes: int) -> NDArray[np.float64]:
    """Return what every count of right guesses proves alone: as right ones, and as wrong ones."""
    count = np.arange(1, guesses + 1)
    right, wrong = (
        special.betaincinv(count, guesses - count + 1, part * BETA) for part in (1 - WRONG_SHARE, WRONG_SHARE)
    )
    nothing, others = [-math.inf], math.log(n_classes - 1)
    return np.array([[*nothing, *(special.logit(right) + others)], [*(special.logit(wrong) - others)[::-1], *nothing]])
