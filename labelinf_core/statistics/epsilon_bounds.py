"""The epsilon that planted labels prove: pure functions, nothing is trained or played here.

An auditor plants labels drawn uniformly from K classes, lets somebody guess them, and counts. Three questions:

* **Is it better than chance?** Planted labels are independent of everything else, so the number of correct guesses of
  whoever has not seen them is Binomial(n, 1/K), however the guesses hang together: an exact p-value, with Holm's
  correction (Scand. J. Statist. 1979) over a table.
* **Is it more than label-DP allows?** Under (eps, delta)-label-DP no attack expects more than
  ``(e^eps + (K - 1) delta) / (e^eps + K - 1)``, and for delta = 0 the number of correct guesses is stochastically
  smaller than a binomial with that probability: given the output and all other labels, the posterior odds of two
  classes are at most ``e^eps``. For delta > 0 it is not: everything may be told with probability delta.
* **What epsilon does one run prove?** The largest epsilon that makes so many correct guesses improbable (Steinke, Nasr
  and Jagielski, NeurIPS 2023, Theorem 5.1, and Theorem 5.2 as repaired in :func:`_p_value_delta`). For delta > 0, and
  for Gaussian DP, so does the trade-off function (:mod:`~labelinf_core.statistics.one_run`); of two bounds of one
  probability the smaller holds. The guesser may abstain: only the most confident guesses count, for a number of
  guesses committed to, or for four shares fixed in advance, each at a quarter of the error probability.

**Wrong guesses** tell as much as right ones. Given the output and all other labels, the posterior odds of two classes
are at least ``e^-eps`` too: a guess is wrong with odds of at most ``(K - 1) e^eps``, as it is right with odds of at
``e^eps / (K - 1)``. So every bound holds of wrong guesses with ``1 / (K - 1)`` in place of ``K - 1``, and with
``(K - 1) delta`` in place of delta. Who looks at both tails gives each half of the error probability: an epsilon that
is proved by either is too high with probability beta at most, as a union of two events of beta / 2.

Example:
    >>> round(label_dp_ceiling(1.0, n_classes=2), 5)
    0.73106
    >>> round(epsilon_lower_bound(446, 500), 4)
    1.8696
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelinf_core.statistics.one_run import Neighbour, OfWrong, is_possible, tail_probability
from labelinf_core.statistics.profiles import ApproximateProfile, GaussianProfile
from labelinf_core.statistics.proportions import p_value

__all__ = [
    "BETA",
    "GUESS_SHARES",
    "EpsilonBound",
    "claim_p_value",
    "epsilon_lower_bound",
    "guess_counts",
    "label_dp_ceiling",
    "mu_lower_bound",
    "mu_p_value",
    "one_run_epsilon",
    "provable_epsilon",
    "ranked_p_value",
]

BETA = 0.05  #: error probability of every epsilon bound that is printed
GUESS_SHARES = (1.0, 0.5, 0.25, 0.1)  #: shares of the canaries that the guesser of an audit commits itself to
_TOLERANCE = 1e-9
_LARGEST_EPSILON = 64.0


def label_dp_ceiling(epsilon: float, n_classes: int, delta: float = 0.0) -> float:
    """Return the largest share of uniform labels that any attack can expect to guess under label-DP.

    Summing the K (K - 1) inequalities ``P[guess k | k] <= e^eps P[guess k | j] + delta`` gives the formula.

    Guarantees:
        Held by exact enumeration of randomised response (``tests/theorems/test_ours_label_dp_ceilings.py``).
    """
    others = (n_classes - 1) * math.exp(-epsilon)
    return min((1 + others * delta) / (1 + others), 1.0)


def claim_p_value(
    correct: int, guesses: int, epsilon: float, *, n_classes: int = 2, delta: float = 0.0, n_canaries: int = 0
) -> float:
    """Return a p-value of the claim of (eps, delta)-label-DP: small when so many correct guesses refute it.

    For delta = 0 it is exact against the ceiling. For delta > 0 the ceiling bounds only what an attack *expects* (a
    mechanism may reveal everything with probability delta), so it is an upper bound: the smaller of that of
    :mod:`~labelinf_core.statistics.one_run` and Steinke, Nasr and Jagielski's Theorem 5.2, repaired.

    Args:
        correct: Correct guesses.
        guesses: Guesses made; canaries on which the guesser abstained do not count. For delta > 0 a number fixed
            beforehand.
        epsilon: What is claimed; infinity claims nothing.
        n_classes: K.
        delta: The delta that goes with it.
        n_canaries: As of :func:`epsilon_lower_bound`.

    Guarantees:
        At most alpha with probability at most alpha (``tests/statistics/test_epsilon_bounds.py``, simulated).

    Example:
        >>> round(claim_p_value(1000, 1000, 0.1, delta=0.05, n_canaries=1000), 4)
        0.05
    """
    if delta == 0 or math.isinf(epsilon):
        return p_value(correct, guesses, label_dp_ceiling(epsilon, n_classes))
    if not correct:
        return 1.0
    privacy = ApproximateProfile(epsilon, delta)
    counts = tail_probability(correct, guesses, privacy, n_classes=n_classes, n_canaries=n_canaries)
    return min(counts, _p_value_delta(correct, guesses, epsilon, delta, n_classes - 1, n_canaries))


def epsilon_lower_bound(
    correct: int,
    guesses: int,
    *,
    n_classes: int = 2,
    beta: float = BETA,
    delta: float = 0.0,
    n_canaries: int = 0,
    wrong: bool = False,
) -> float:
    """Return the epsilon that so many correct guesses prove, at error probability ``beta``; 0 when they prove none.

    For delta = 0 it is the epsilon whose ceiling equals the lower confidence limit of Clopper and Pearson.

    Args:
        correct: Correct guesses; wrong ones where ``wrong``.
        guesses: As of :func:`claim_p_value`.
        n_classes: K.
        beta: Error probability.
        delta: The delta of the (eps, delta) that is refuted.
        n_canaries: All canaries, abstentions included; needed for delta > 0 only.
        wrong: Whether wrong guesses are counted.

    Guarantees:
        Too high with probability at most ``beta`` (simulated: ``tests/statistics/test_epsilon_bounds.py``). For
        delta > 0 the bound on the tail need not grow with epsilon; what refutes an epsilon refutes every smaller one
        even so.
    """
    if guesses == 0 or correct == 0:
        return 0.0
    others = _others(n_classes, wrong)
    if delta > 0:
        told = delta / others if wrong else delta

        def refuted(epsilon: float) -> bool:
            privacy = _of(ApproximateProfile(epsilon, delta), n_classes, wrong)
            return (
                not is_possible(beta, correct, guesses, privacy, n_classes=n_classes, n_canaries=n_canaries)
                or _p_value_delta(correct, guesses, epsilon, told, others, n_canaries) <= beta
            )

        return _largest(refuted)
    share = float(special.betaincinv(correct, guesses - correct + 1, beta))
    return max(math.log(share * others / (1 - share)), 0.0)


def _others(n_classes: int, wrong: bool) -> float:
    """Return against how many others a counted guess stands at chance: the odds of chance are one to so many."""
    return 1 / (n_classes - 1) if wrong else n_classes - 1


def _of(privacy: Neighbour, n_classes: int, wrong: bool) -> Neighbour:
    return OfWrong(privacy, n_classes) if wrong else privacy


def mu_p_value(correct: int, guesses: int, mu: float, *, n_classes: int = 2, n_canaries: int) -> float:
    """Return a p-value of the claim of mu-Gaussian label-DP; arguments as of :func:`claim_p_value`."""
    return tail_probability(correct, guesses, GaussianProfile(mu), n_classes=n_classes, n_canaries=n_canaries)


def mu_lower_bound(
    correct: int, guesses: int, *, n_classes: int = 2, beta: float = BETA, n_canaries: int, wrong: bool = False
) -> float:
    """Return the mu of Gaussian label-DP that so many correct guesses prove; as :func:`epsilon_lower_bound`."""
    if correct == 0:
        return 0.0

    def refuted(mu: float) -> bool:
        privacy = _of(GaussianProfile(mu), n_classes, wrong)
        return not is_possible(beta, correct, guesses, privacy, n_classes=n_classes, n_canaries=n_canaries)

    return _largest(refuted)


def _p_value_delta(correct: int, guesses: int, epsilon: float, delta: float, others: float, n_canaries: int) -> float:
    r"""Return Theorem 5.2 of Steinke, Nasr and Jagielski, repaired and for K classes; ``correct`` is above 0.

    With ``p = e^eps / (e^eps + K - 1)``, r guesses about m uniform labels are right v times or more with probability
    at most

        P[Bin(r, p) >= v] + (1 - p) delta (m / r) sum_(j = 1..r) max_(0 <= w < j) P[Bin(r - j, p) = v - 1 - w].

    As printed the excess is ``m delta max_i 2 P[v > Bin(r, p) >= v - i] / i``. That is too small for small v: a label
    may be told *because* the guesses before it were wrong, and the printed proof adds a number of told labels that is
    independent of them.

    **Proof, all labels guessed.** Given the first i - 1 labels, let ``P_k`` be the law of the answer where the i-th
    label is k. By joint convexity any two of them are (eps, delta)-close. The guess g is right with the posterior
    probability ``pi = P_g / sum_k P_k``, and ``pi - p = sum_(k != g) (P_g - e^eps P_k) / ((e^eps + K - 1) sum_k P_k)``.
    Under the answer's own law, ``sum_k P_k / K``, the K (K - 1) pairs of g and k give ``E[(pi - p)+] <= (K - 1) delta
    / (e^eps + K - 1) = (1 - p) delta``, whatever the first labels are. Now let ``F_i = P[Bin(r - i, p) >= v - N_i]``,
    with ``N_i`` the right ones of the first i guesses. Given the answer and the first i - 1 labels, ``F_i`` is expected
    to exceed ``F_(i-1)`` by at most ``(pi - p)+ P[Bin(r - i, p) = v - 1 - N_(i-1)]``, and ``0 <= N_(i-1) < i``. Summed
    over i, ``P[N_r >= v] = E[F_r]`` exceeds ``F_0`` by no more than what stands above.

    **Abstention.** Fewer than r guesses are filled up: more are right then. Shifting all labels and guesses by a public
    random vector modulo K, and permuting the canaries by a public random permutation, changes neither the count nor the
    privacy. Then which canaries are guessed is independent of the labels, and all of its C(m, r) values are alike: as a
    canary is among them with probability r / m, given which they are the answer is (eps, delta m / r)-private.

    **Wrong guesses.** The same, with ``1 / (K - 1)`` for the others and ``(K - 1) delta``: ``1 - pi`` exceeds
    ``(K - 1) e^eps / ((K - 1) e^eps + 1)`` by ``sum_(k != g) (P_k - e^eps P_g) / (((K - 1) e^eps + 1) sum_k P_k)``.

    Args:
        correct: Guesses that are counted, v.
        guesses: r.
        epsilon: Of the claim.
        delta: Of the claim; (K - 1) times that where wrong guesses are counted.
        others: ``K - 1``, or its inverse where wrong guesses are counted.
        n_canaries: m.
    """
    keep = 1 / (1 + others * math.exp(-epsilon))
    left = guesses - np.arange(1, guesses + 1)  # guesses behind the j-th
    mode = np.floor((left + 1) * keep)
    likeliest = np.clip(mode, np.maximum(correct + left - guesses, 0), np.minimum(correct - 1, left))
    told = delta * n_canaries / guesses * (1 - keep)
    return float(special.betainc(correct, guesses - correct + 1, keep)) + told * float(
        np.exp(_log_binomial(likeliest, left, keep)).sum()
    )


def _log_binomial(count: NDArray[np.float64], n: NDArray[np.intp], probability: float) -> NDArray[np.float64]:
    choices = special.gammaln(n + 1) - special.gammaln(count + 1) - special.gammaln(n - count + 1)
    logs: NDArray[np.float64] = choices + special.xlogy(count, probability) + special.xlog1py(n - count, -probability)
    return logs


def _largest(refuted: Callable[[float], bool]) -> float:
    """Return the largest level that is refuted, by bisection from below; 0 where none is."""
    low, high = 0.0, _LARGEST_EPSILON
    if not refuted(low):
        return 0.0
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def provable_epsilon(n_canaries: int, n_classes: int = 2, beta: float = BETA, delta: float = 0.0) -> float:
    """Return the most that an audit of ``n_canaries`` can prove, were every guess correct.

    An audit that finds no violation says nothing beyond this.

    Args:
        n_canaries: Planted labels.
        n_classes: K.
        beta: Error probability, split evenly over the guess counts.
        delta: See :func:`epsilon_lower_bound`.
    """
    share = beta / len(GUESS_SHARES)
    return max(
        epsilon_lower_bound(r, r, n_classes=n_classes, beta=share, delta=delta, n_canaries=n_canaries)
        for r in guess_counts(n_canaries)
    )


def guess_counts(n_canaries: int) -> tuple[int, ...]:
    """Return how many of the most confident guesses an audit of ``n_canaries`` looks at, most first."""
    return tuple(dict.fromkeys(max(round(share * n_canaries), 1) for share in GUESS_SHARES))


def ranked_p_value(
    ranked: NDArray[np.bool_], epsilon: float, *, n_canaries: int, n_classes: int = 2, delta: float = 0.0
) -> float:
    """Return a p-value of the claim of (eps, delta)-label-DP, of an abstaining guesser.

    Args:
        ranked: Whether each guess is correct, most confident first, abstentions left out.
        epsilon: What is claimed; infinity claims nothing.
        n_canaries: All canaries, abstentions included.
        n_classes: K.
        delta: The delta that goes with it.
    """
    sizes = guess_counts(n_canaries)
    each = (
        claim_p_value(
            int(ranked[:size].sum()),
            size if delta else min(size, ranked.size),
            epsilon,
            n_classes=n_classes,
            delta=delta,
            n_canaries=n_canaries,
        )
        for size in sizes
        if ranked.size
    )
    return min(1.0, len(sizes) * min(each, default=1.0))


@attrs.frozen(kw_only=True)
class EpsilonBound:
    """What one run proves.

    Attributes:
        epsilon: Lower bound of epsilon at error probability ``beta``.
        guesses: How many of the most confident guesses prove it.
        correct: How many of those are correct.
        provable: The most that so many canaries could have proved.
        beta: Error probability, over the choice of ``guesses`` too.
    """

    epsilon: float
    guesses: int
    correct: int
    provable: float
    beta: float


def one_run_epsilon(
    ranked: NDArray[np.bool_], *, n_canaries: int, n_classes: int = 2, beta: float = BETA, delta: float = 0.0
) -> EpsilonBound:
    """Return the epsilon that one run proves, with an abstaining guesser.

    Args:
        ranked: Whether each guess is correct, most confident first, abstentions left out.
        n_canaries: All canaries, abstentions included.
        n_classes: K.
        beta: Error probability, split evenly over the guess counts (Bonferroni).
        delta: See :func:`epsilon_lower_bound`.
    """
    found = []
    for count in guess_counts(n_canaries):
        guesses = count if delta else min(count, ranked.size)
        correct = int(ranked[:guesses].sum())
        epsilon = epsilon_lower_bound(
            correct,
            guesses,
            n_classes=n_classes,
            beta=beta / len(GUESS_SHARES),
            delta=delta,
            n_canaries=n_canaries,
        )
        found.append((epsilon, guesses, correct))
    epsilon, guesses, correct = max(found, key=lambda item: item[0])
    provable = provable_epsilon(n_canaries, n_classes, beta, delta)
    return EpsilonBound(epsilon=epsilon, guesses=guesses, correct=correct, provable=provable, beta=beta)
