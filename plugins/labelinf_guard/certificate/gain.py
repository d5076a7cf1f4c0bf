"""Bits of answers, as points over a perfect model and as a line that one list of guesses does not cross.

**The model.** The attacker knows the law of the labels given all features; given that, the labels are independent.
``p_i`` is the probability of record i's likeliest label under that law, their mean is what a perfect model scores.
Whatever is told, ``B`` bits of it (mutual information, or the logarithm of the number of transcripts) raise nobody's
expected share of right labels above that mean by more than the *gain*:

* K = 2: the g with ``2 D (1 - h(1/2 - g / (2 D))) = B / N``, ``D = 1 - p*``. *Proof.* A record with error D and gain g
  costs ``h(D) - h(D - g)`` bits. For ``z = 1 - g / D`` fixed, ``(h(D) - h(D z)) / D`` falls in D: its derivative is
  ``log2((1 - D) / (1 - D z)) / D**2``. So the cost is at least ``2 D (1 - h(1/2 - g / (2 D)))``, that of coins beside
  records that are sure; this is the perspective of a convex function, hence jointly convex: Jensen over the records.
* any K: ``min(sqrt(ln 2 B / (2 N)), sqrt(ln 2 D B / N), D)``, by Pinsker, by merging classes, and by definition.
* labels in groups (one patient, one label each way) that are independent of one another only:
  ``sqrt(ln 2 B / (2 N_eff))``, ``N_eff = (sum m)**2 / sum m**2`` over the groups' sizes m.

Class counts that are known are one more answer, of ``(K - 1) log2(N + 1)`` bits. Of two classes, labels that are
never scored lose less by them, which is a gain over a perfect model *that knows the counts*: ``(2 / sqrt(3)) sqrt(n m
D (1 - D) / (N - 1)) / N``, for n labels that are scored, by a rule that looks at none, and m that are not (B18).
*Proof.* Let whoever attacks know all n. Of the rest they tell S, the sum of the m, and no more; the chance ``P_i(S)``
that one is positive rises in S, as sums of independent labels are log-concave, and ``sum P_i(s) = s``. With S' drawn
again given the counts and ``q_i = E P_i`` the gain ``sum E max(P_i, 1 - P_i) - max(q_i, 1 - q_i)`` is at most ``sum E
|P_i - q_i| <= sum E |P_i(S) - P_i(S')| = E |S - S'|``. That is ``2 sd(S) / sqrt(3)`` at most: it is four times the
covariance of S with its own mid-distribution function, whose variance is 1/12 at most. On average over counts a
linear forecast of S from them leaves ``V_n V_m / (V_n + V_m)``, V sums of ``p_i (1 - p_i)``, concave in both: on
average over which are scored at most ``n m D (1 - D) / N``. In random order S is hypergeometric, of variance ``n m D
(1 - D) / (N - 1)`` for any counts, and ``E |S - E S|`` bounds the gain.

Example:
    >>> round(100 * gain_of_bits(726, 25_000), 2), round(100 * gain_of_bits(726, 25_000, perfect=0.86), 1)
    (10.0, 5.2)
    >>> round(bits_of_gain(0.05, 25_000, perfect=0.86) / 7)
    94
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from fractions import Fraction

__all__ = [
    "binary_entropy",
    "bits_of_gain",
    "blind",
    "counts_bits",
    "effective_number",
    "gain_of_bits",
    "game_line",
    "spread_gain",
]

_LN2 = math.log(2)
_DIGITS = 52  # binary, of a gain
_SMALLEST = -690.0  # logarithm, below which doubles lose digits, and then are 0


def binary_entropy(share: float) -> float:
    """Return ``h(share)`` in bits, for a share in [0, 1]."""
    if share <= 0 or share >= 1:
        return 0.0
    return -(share * math.log2(share) + (1 - share) * math.log2(1 - share))


def counts_bits(labels: int, classes: int = 2) -> float:
    """Return what known class counts tell at most: ``(K - 1) log2(N + 1)`` bits, each rounded up to 1/1024."""
    return (classes - 1) * (math.floor(1024 * math.log2(labels + 1)) + 1) / 1024


def spread_gain(scored: int, sealed: int, *, left: float) -> float:
    """Return what known class counts are worth about sealed labels of two classes, as a share of all labels.

    Args:
        scored: n, labels that anything may be told about.
        sealed: m, labels that no answer depends on.
        left: ``D``, of all labels.
    """
    labels, unsure = scored + sealed, scored * sealed * left * (1 - left)
    return math.sqrt(4 * unsure / (3 * (labels - 1))) / labels if unsure else 0.0


def effective_number(sizes: Iterable[int]) -> Fraction:
    """Return ``(sum m)**2 / sum m**2``: how many groups of one size would be as good as these.

    Args:
        sizes: Labels of every group, each at least 1.
    """
    known = list(sizes)
    return Fraction(sum(known) ** 2, sum(size * size for size in known))


def blind(perfect: float | None, classes: int) -> float:
    """Return ``D``, what a perfect model leaves to gain at most; without an assumption, ``1 - 1 / K``."""
    return 1 - 1 / classes if perfect is None else min(1 - perfect, 1 - 1 / classes)


def gain_of_bits(
    bits: float,
    labels: int,
    *,
    classes: int = 2,
    perfect: float | None = None,
    effective: Fraction | None = None,
) -> float:
    """Return what ``bits`` bits are worth at most, as a share of ``labels`` labels.

    Args:
        bits: Of all that is told, known class counts included; infinity is allowed.
        labels: N, at least 1.
        classes: K, at least 2.
        perfect: ``p*``, what a perfect model scores; None assumes nothing.
        effective: N_eff where labels come in groups; None where they are independent.
    """
    most = blind(perfect, classes)
    if most <= 0 or bits <= 0:
        return 0.0
    if effective is not None and effective < labels:
        return min(most, math.sqrt(_LN2 * bits / (2 * float(effective))))
    if classes == 2:
        return 2 * most * _coin_gain(bits / (2 * most * labels))
    return min(most, math.sqrt(_LN2 * bits / (2 * labels)), math.sqrt(_LN2 * most * bits / labels))


def _coin_gain(bits: float) -> float:
    """Return the largest x with ``1 - h(1/2 - x) <= bits``, from above."""
    if bits >= 1:
        return 0.5
    if bits < 1e-9:  # the series of the entropy: 1 - h(1/2 - x) >= 2 x**2 / ln 2
        return math.sqrt(_LN2 * bits / 2)
    steps = range(1 << _DIGITS)
    beyond = bisect_left(steps, True, key=lambda step: 1 - binary_entropy(0.5 - step / len(steps) / 2) > bits)
    return beyond / len(steps) / 2


def bits_of_gain(
    gain: float, labels: int, *, classes: int = 2, perfect: float | None = None, effective: Fraction | None = None
) -> float:
    """Return how many bits may be told for a gain of at most ``gain``: the inverse of :func:`gain_of_bits`.

    Infinity where no number of bits is worth more.
    """
    most = blind(perfect, classes)
    if gain >= most:
        return math.inf
    if effective is not None and effective < labels:
        return 2 * float(effective) * gain * gain / _LN2
    if classes == 2:
        return 2 * most * labels * (1 - binary_entropy(0.5 - gain / (2 * most)))
    return labels * gain * gain / _LN2 * max(2.0, 1 / most)


def game_line(
    bits: float, labels: int, perfect: float, *, doubt: float, lists: int = 1, rare: float = 0.0
) -> float | None:
    """Return the share that one list of guesses reaches with probability ``doubt`` at most.

    ``P(k right or more) <= 2**bits P(Bin(N, p*) >= k)``: for every transcript the list is fixed, its number of right
    guesses is a sum of independent ones, and for ``k >= N p* + 1`` the binomial is the worst of them (Hoeffding, Ann.
    Math. Stat. 1956, Theorem 5).

    Args:
        bits: B, charged before the moment of the guess, at which the rule stops.
        labels: N independent labels.
        perfect: ``p*``.
        doubt: In (0, 1).
        lists: Lists or moments that are tried; each costs its logarithm.
        rare: Bits of known class counts.

    Returns:
        None where no share below 1 can be named.
    """
    allowed = math.log(doubt / lists) - (bits + rare) * _LN2
    counts = range(math.ceil(labels * perfect) + 1, labels + 1)
    first = bisect_left(counts, True, key=lambda count: _tail_log(count, labels, perfect) <= allowed - 1e-6)
    return None if first == len(counts) else counts[first] / labels


def _tail_log(count: int, labels: int, share: float) -> float:
    """Return ``log P(Bin(labels, share) >= count)``, from above where that is smaller than doubles are.

    There the tail is at most a geometric series: no term is more than ``(n - k) p / ((k + 1) (1 - p))`` of the last.
    """
    from scipy.special import gammaln
    from scipy.stats import binom

    found = float(binom.logsf(count - 1, labels, share))
    if found > _SMALLEST:
        return found
    missed = labels - count
    ways = gammaln(labels + 1) - gammaln(count + 1) - gammaln(missed + 1)
    ratio = missed * share / ((count + 1) * (1 - share))
    return float(ways + count * math.log(share) + missed * math.log1p(-share) - math.log1p(-ratio))
