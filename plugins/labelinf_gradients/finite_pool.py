r"""What it is worth that samples come from a finite data set: whoever knows the other labels knows what is left.

Ceilings take labels to be drawn from the class shares. In a game they are drawn without replacement, and class counts
are public. The most that an adversary can know besides is every label but those of the batch he asks about, of the
``spare`` records that might have been in its place, and of those others whose releases tell nothing: then the batch
comes from so many records, of which he knows the counts, themselves a random sample of the whole. Both proofs about a
batch hold for labels drawn without replacement (:mod:`labelinf_gradients.certificates`), ``b`` being the mean overlap
of the best blind guess, and are concave in it; so what is reached on average is what the mean of ``b`` allows.

That mean is bounded by exact probabilities, any number of classes: the best guess given the counts m is the sum of the
``batch`` largest ``P(count_k >= j | m)``, which is ``batch t + sum (P - t)+`` at most, for every t that is fixed
beforehand.

Example: of ten labels in two equal classes, five are known, and then all but one.
    >>> [round(best_overlap((0.5, 0.5), 10, n_left=left, batch=1), 3) for left in (5, 1)]
    [0.643, 1.0]
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["at_least", "best_overlap", "counts_bits", "shares_moved"]

_WIDE = 12  # standard deviations of counts that are looked at; the others have a chance of e**-72
_SLACK = 1e-9  # for logarithms of factorials in doubles, and those chances; more, the larger these are
_LARGE = 1e5  # records
_LEVELS = (0.0, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.6)  # quantiles of many; what is worst holds up to the next


@functools.lru_cache(maxsize=256)
def best_overlap(prior: tuple[float, ...], n_records: int, *, n_left: int, batch: int) -> float:
    """Return the most that the best guess of a batch overlaps with it on average, all but ``n_left`` labels known.

    Args:
        prior: Share of every class among all records.
        n_records: All records.
        n_left: Records whose labels are not known, those of the batch included.
        batch: Samples.

    Guarantees:
        ``tests/gradients/test_finite_pool.py`` enumerates all that can be left.
    """
    gains, weights = [], []
    for count in _counts(prior, n_records):
        left, chances = _left(count, n_records, n_left)
        inside = np.arange(batch + 1)
        each = _probability(inside[None, :], n_left, left[:, None], batch)
        at_least = each[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        gains.append(at_least.ravel())
        weights.append(np.repeat(chances, batch))
    gain, weight = np.concatenate(gains), np.concatenate(weights)
    order = np.argsort(-gain)
    place = int(np.searchsorted(weight[order].cumsum(), batch))
    level = float(gain[order[min(place, gain.size - 1)]])
    mean = batch * level + weight @ np.maximum(gain - level, 0)
    return min(1.0, float(mean) / batch + _slack(n_records))


@functools.lru_cache(maxsize=256)
def shares_moved(prior: tuple[float, ...], n_records: int, *, n_left: int) -> float:
    """Return the mean total variation between class shares and the shares among ``n_left`` records.

    No guess of one label is right more often by more than that for knowing them.
    """
    apart = 0.0
    for share, count in zip(prior, _counts(prior, n_records), strict=True):
        left, chances = _left(count, n_records, n_left)
        apart += float(chances @ np.abs(left / n_left - share)) / 2
    return apart + _slack(n_records)


def counts_bits(prior: tuple[float, ...], n_records: int) -> float:
    """Return by how many doublings known class counts raise a chance: ``-log2`` of theirs for independent labels."""
    counts = np.array(_counts(prior, n_records))
    shares = counts[counts > 0] / n_records
    log = gammaln(n_records + 1) - gammaln(counts + 1).sum() + counts[counts > 0] @ np.log(shares)
    return max(0.0, -float(log) / math.log(2))


def at_least(n: int, chance: float) -> list[tuple[int, float]]:
    """Return numbers out of n, each happening with ``chance``, and weights: what falls in them is on average no more.

    Exact of few; of many each number stands for all from one quantile to the next.
    """
    inside = np.arange(n + 1, dtype=np.float64)
    if not 0 < chance < 1:
        return [(round(n * chance), 1.0)]
    logs = _choose(np.float64(n), inside) + inside * math.log(chance) + (n - inside) * math.log1p(-chance)
    below = np.minimum(1.0, np.exp(logs).cumsum())
    levels = np.array(_LEVELS) if n > len(_LEVELS) else np.append(0.0, below[:-1])
    numbers = np.arange(n + 1) if n <= len(_LEVELS) else below.searchsorted(levels)
    return [(int(number), float(weight)) for number, weight in zip(numbers, np.diff(levels, append=1.0), strict=True)]


def _slack(n_records: int) -> float:
    return _SLACK * max(1.0, n_records / _LARGE)


def _counts(prior: tuple[float, ...], n_records: int) -> list[int]:
    return [round(share * n_records) for share in prior]


def _left(count: int, n_records: int, n_left: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many records of a class can be left, and with which probabilities."""
    share = count / n_records
    wide = _WIDE * math.sqrt(n_left * share * (1 - share)) + _WIDE
    low = max(0, count - (n_records - n_left), math.floor(n_left * share - wide))
    high = min(count, n_left, math.ceil(n_left * share + wide))
    left = np.arange(low, high + 1, dtype=np.float64)
    return left, _probability(left, n_records, np.float64(count), n_left)


def _probability(
    inside: NDArray[np.float64] | NDArray[np.intp], n: int, marked: NDArray[np.float64] | np.float64, drawn: int
) -> NDArray[np.float64]:
    """Return the hypergeometric probability of so many marked ones among those drawn; 0 where there are too few."""
    outside = drawn - inside
    fits = (inside <= marked) & (outside <= n - marked)
    logs = _choose(marked, np.minimum(inside, marked)) + _choose(n - marked, np.minimum(outside, n - marked))
    return np.asarray(np.where(fits, np.exp(logs - _choose(np.float64(n), np.float64(drawn))), 0.0))


def _choose(n: NDArray[np.float64] | np.float64, k: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
