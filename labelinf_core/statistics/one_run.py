"""How improbable so many correct guesses are under f-DP, in one run, whatever the number of classes.

m labels are drawn uniformly from K classes, a mechanism answers once, and somebody guesses r of the labels from the
answer. Let N be the number of correct guesses. Mahloujifar, Melis and Chaudhuri ("Auditing f-differential privacy in
one run", 2024) bound its law by the trade-off function alone; derived for labels, with abstention:

**Each label.** Fix all labels but the i-th, and a set T of counts. Let ``S_v`` be the answers after which v is guessed
for i, and one more than the number of other correct guesses lies in T. Privacy of label i says ``P_v(S_v) <=
h(P_w(S_v))`` for w != v, where ``h = 1 - f`` is concave. Averaged over v, and over w != v within, by concavity:

    P[i right, N in T] <= h(P[i wrong, N + 1 in T] / (K - 1)).

**All labels.** Averaged over i with T = {j, j + 1, ...}, where ``p_j = P[N = j]``, again by concavity:

    A_j <= h(B_(j-1) / (K - 1)),   A_j = sum_(i >= j) i p_i / m,   B_j = sum_(i >= j) (r - i) p_i / m.

**The tail.** Let ``P[N >= c] = t``. Put its mass at c, which makes ``A_c`` least, and go down: ``p_(j-1)`` must lift
``B_(j-1)`` to ``(K - 1) h^-1(A_j)``, and is taken as small as that allows. What is built up bounds every law with such
a tail from below in three ways, each by induction: in ``A_j``, in ``A_j + B_j``, and in ``(r - j) A_j - j B_j``, a
multiple of ``E[(N - j)+]``. If ``A_0 + B_0``, which is ``r/m`` by definition, comes out larger, the tail is not as
probable as t.

**Wrong guesses.** Let N count these instead. After ``S_v``, label i is wrong where it is w != v, and ``P_w(S_v) <=
h(P_v(S_v))``; averaged as before, ``P[i wrong, N in T] <= (K - 1) h(P[i right, N + 1 in T])``. So all of it holds of
wrong guesses with ``q -> (K - 1) h((K - 1) q)`` in place of h: :class:`OfWrong`. Guesses that were not made count as
wrong ones above, and as right ones here: filling them up only makes more of those that are counted.

For delta = 0 the binomial law is sharper (it conditions on *which* guesses are right, not on how many); see
:mod:`~labelinf_core.statistics.epsilon_bounds`.

Example:
    >>> from labelinf_core.statistics.profiles import GaussianProfile
    >>> round(tail_probability(95, 100, GaussianProfile(1.0), n_canaries=100), 4)
    0.0305
"""

from __future__ import annotations

from typing import Protocol

import attrs

__all__ = ["Neighbour", "OfWrong", "is_possible", "tail_probability"]

_SLACK = 1e-12  # of float sums; a tail is called impossible beyond it only
_HALVINGS = 50


class Neighbour(Protocol):
    """What f-DP says of an event's probability after one label is changed."""

    def least(self, probability: float) -> float:
        """Return the least it can be, where it was ``probability``: the inverse of ``1 - f``; convex, increasing."""


@attrs.frozen
class OfWrong:
    """What f-DP says where wrong guesses are counted.

    Attributes:
        privacy: Of every label.
        n_classes: K.
    """

    privacy: Neighbour
    n_classes: int

    def least(self, probability: float) -> float:
        """Return the inverse of ``q -> (K - 1) h((K - 1) q)``."""
        others = self.n_classes - 1
        return self.privacy.least(min(probability / others, 1.0)) / others


def is_possible(
    tail: float, correct: int, guesses: int, privacy: Neighbour, *, n_classes: int = 2, n_canaries: int
) -> bool:
    """Say whether ``correct`` or more guesses may be right with probability ``tail``.

    Args:
        tail: In (0, 1].
        correct: In 1..guesses; wrong ones where ``privacy`` is :class:`OfWrong`.
        guesses: Guesses made, a number fixed beforehand; abstentions beyond it count as wrong ones.
        privacy: Of every label.
        n_classes: K.
        n_canaries: m, at least ``guesses``.

    Guarantees:
        Never false of a tail that the inequalities allow: it is the optimum of their linear programme
        (``tests/statistics/test_one_run.py``).
    """
    mass = guesses / n_canaries
    right, wrong = tail * correct / n_canaries, tail * (guesses - correct) / n_canaries
    for count in range(correct, 0, -1):
        needed = (n_classes - 1) * privacy.least(right)
        if needed > wrong:
            right += (needed - wrong) * (count - 1) / (guesses - count + 1)
            wrong = needed
            if right + wrong > mass * (1 + _SLACK):
                return False
    return right + wrong <= mass * (1 + _SLACK)


def tail_probability(correct: int, guesses: int, privacy: Neighbour, *, n_classes: int = 2, n_canaries: int) -> float:
    """Return an upper bound of the probability of ``correct`` or more right guesses: a p-value of the claim.

    Args:
        correct: Correct guesses.
        guesses: As of :func:`is_possible`, like all others.
        privacy: Of every label.
        n_classes: K.
        n_canaries: m.
    """
    if correct == 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if is_possible(middle, correct, guesses, privacy, n_classes=n_classes, n_canaries=n_canaries):
            low = middle
        else:
            high = middle
    return high
