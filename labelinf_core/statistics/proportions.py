"""Intervals and exact tests for observed proportions.

**Exact recovery** is one yes or no per trial, so its interval is Clopper and Pearson's (Biometrika 1934).

**Label accuracy** pools all labels of all trials, but labels of one trial stand or fall together: an attack that
recovers everything or nothing yields N equal answers per trial, not N independent ones. The interval of Korn and
Graubard (Survey Methodology 1998) is Clopper and Pearson's with the number of labels replaced by the *effective* number

    n_eff = min(n, p (1 - p) / v) * (t_inf / t_df)^2

where v is the variance of the pooled share p as the trials show it, n / n_eff is the design effect, and the ratio of
Student's quantiles pays for having estimated v from few trials. The spread can never make n_eff exceed n.

**Whether anything leaks at all** is another question than how much. When nothing does, the labels are in a random order
of which the guess knows nothing, so correct guesses spread no wider than a binomial and every label counts, in one
trial as in twenty. The verdict asks this question of all trials together and of the best one alone: an attack that
recovers everything in one trial of twenty has broken the defence, whatever its mean.

One trial shows no spread at all; its labels are then taken for independent, and a report should say so. Equal trials
show none either: when every label of every trial is right, rare trials that fail as a whole may merely not have been
seen. So the *alarm* interval, which must not cry wolf, counts trials instead of labels in these two cases.

Example:
    >>> round(exact_recovery([True] * 20).low, 4)
    0.8316
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelinf_core.contracts.guarantees import Interval

__all__ = [
    "CONFIDENCE",
    "alarm_accuracy",
    "betting_p_value",
    "clopper_pearson",
    "combined",
    "exact_recovery",
    "game_p_value",
    "holm",
    "label_accuracy",
    "leak_floor",
    "no_query_p_value",
    "p_value",
]

CONFIDENCE = 0.95  #: of every interval that is printed
Shares = Sequence[float] | NDArray[np.float64]

_PARTS = (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0)  # of the wealth that a bet stakes


def clopper_pearson(successes: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """Return the exact interval of a binomial proportion.

    Args:
        successes: Between 0 and ``n``; need not be whole, as an effective sample size is not.
        n: Number of independent answers, above 0.
        confidence: Two-sided, in (0, 1).
    """
    tail = (1 - confidence) / 2
    failures = n - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return Interval(value=successes / n, low=low, high=high)


def exact_recovery(recovered: Sequence[bool] | NDArray[Any], confidence: float = CONFIDENCE) -> Interval:
    """Return the share of trials in which every label was recovered."""
    return clopper_pearson(int(np.sum(recovered)), len(recovered), confidence)


def label_accuracy(shares: Shares, n_records: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of labels guessed correctly, pooled over trials.

    Args:
        shares: Share of correct labels per trial, each in [0, 1].
        n_records: Labels per trial.
        confidence: Two-sided, in (0, 1).
    """
    return _with_size(float(np.mean(shares)), _effective_size(shares, n_records, confidence), confidence)


def alarm_accuracy(shares: Shares, n_records: int, confidence: float) -> Interval:
    """Return a wider interval, for saying that a proof is contradicted.

    Args:
        shares: Share of correct labels per trial.
        n_records: Labels per trial.
        confidence: Already corrected for the number of cells.
    """
    mean = float(np.mean(shares))
    unseen = len(shares) == 1 or mean in (0.0, 1.0)
    size = len(shares) if unseen else _effective_size(shares, n_records, confidence)
    return _with_size(mean, size, confidence)


def leak_floor(shares: Shares, n_records: int, confidence: float) -> float:
    """Return an accuracy that would be exceeded if nothing leaked only with probability ``1 - confidence``.

    Args:
        shares: Share of correct labels per trial.
        n_records: Labels per trial.
        confidence: Already corrected for the number of cells.
    """
    error, trials = 1 - confidence, len(shares)
    pooled = clopper_pearson(math.fsum(shares) * n_records, trials * n_records, 1 - error)
    best = clopper_pearson(float(np.max(shares)) * n_records, n_records, 1 - error / trials)
    return max(pooled.low, best.low)  # two one-sided limits, each at half the error


def _with_size(mean: float, size: float, confidence: float) -> Interval:
    found = clopper_pearson(mean * size, size, confidence)
    return Interval(value=mean, low=min(found.low, mean), high=max(found.high, mean))


def _effective_size(shares: Shares, n_records: int, confidence: float) -> float:
    trials = len(shares)
    n = float(trials * n_records)
    if trials == 1:
        return n
    mean = float(np.mean(shares))
    variance = float(np.var(shares, ddof=1)) / trials
    if variance > 0:
        n = min(n, mean * (1 - mean) / variance)
    tail = (1 - confidence) / 2
    few = special.ndtri(tail) / special.stdtrit(trials - 1, tail)
    return max(n * float(few) ** 2, math.ulp(1.0))


def p_value(correct: int, guesses: int, probability: float) -> float:
    """Return ``P[Bin(guesses, probability) >= correct]``, exact and one-sided.

    Args:
        correct: Correct guesses, 0 to ``guesses``.
        guesses: Guesses made.
        probability: Largest probability of a correct guess under the hypothesis: 1/K for chance, a ceiling otherwise.
    """
    if correct <= 0 or probability >= 1:
        return 1.0
    return float(special.betainc(correct, guesses - correct + 1, probability))


def combined(p_values: Shares) -> float:
    """Return Fisher's p-value of all of ``p_values``, each valid whatever came before it; 1 without any."""
    logs = -float(np.sum(np.log(np.maximum(p_values, math.ulp(0.0)))))
    return float(special.gammaincc(len(p_values), logs)) if len(p_values) else 1.0


def game_p_value(correct: int, n_records: int, *, share: float, bits: float) -> float:
    """Return ``min(1, 2**bits P[Bin(n_records, share) >= correct])``, what :class:`PerGame` says of one game."""
    tail = p_value(correct, n_records, share)
    return math.exp2(min(0.0, bits + math.log2(max(tail, math.ulp(0.0)))))


def betting_p_value(shares: Shares, mean: float) -> float:
    """Return a p-value of ``mean`` being the most that each share in [0, 1] is expected to be, whatever came before.

    Whoever bets a fixed part of their wealth on the next share being larger than ``mean``, at fair odds, expects to own
    no more than at first; to own ``1 / p`` times as much has probability p at most (Ville). Five parts are tried with a
    fifth of the wealth each. Nothing else is assumed: neither many trials, nor labels that are independent.

    Example:
        >>> round(betting_p_value([0.8, 0.8, 0.8], 0.2), 4)
        0.0569
        >>> betting_p_value([0.8], 0.8)
        1.0
    """
    if mean <= 0:
        return 0.0 if np.any(np.asarray(shares) > 0) else 1.0
    returns = np.asarray(shares, dtype=float) / mean
    wealth = np.mean([np.prod(1 - part + part * returns) for part in _PARTS])
    return min(1.0, 1 / float(wealth))


def no_query_p_value(correct: int, guesses: int, probability: float) -> float:
    """Return a p-value of guesses of labels that stand in a random order, nothing of which was looked at.

    Sums of draws without replacement spread no wider than sums of independent ones (Hoeffding, JASA 1963, Theorem 4),
    so Chernoff's bound for the binomial holds.

    Args:
        correct: Correct guesses.
        guesses: Guesses made.
        probability: Share of the most frequent class.
    """
    share = correct / guesses
    if share <= probability:
        return 1.0
    if probability <= 0:
        return 0.0
    return math.exp(
        -guesses * float(special.rel_entr(share, probability) + special.rel_entr(1 - share, 1 - probability))
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for there being many: comparing them with alpha bounds the family-wise error by alpha.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        (0.03, 0.06, 0.06)
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(p.size, 0, -1)
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return tuple(adjusted.tolist())
