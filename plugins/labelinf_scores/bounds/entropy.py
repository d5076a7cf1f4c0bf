"""How many bits a label set holds, and what few bits leave open: counting, Fano and Gaussian channels.

The labels are a fixed multiset in a random order, its class counts public. A label vector holds
``H = log2(N! / (n_1! ... n_K!))`` bits; whatever T is released, ``sum_i H(label_i | T) >= H - I(labels; T)``, and
Fano's inequality turns the mean of the left side into a mean error (it is concave).

Example:
    >>> round(fano_accuracy(bits=100 * math.log2(360_438), entropy=70_000, n_records=70_000, n_classes=2), 4)
    0.5953
    >>> round(fano_accuracy(bits=10 * math.log2(3606), entropy=306, n_records=306, n_classes=2), 4)
    0.8484
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from labelinf_scores.bounds.rate_distortion import rate_distortion_accuracy

__all__ = [
    "class_counts",
    "counts_bits",
    "counts_probability",
    "fano_accuracy",
    "fewest_answers",
    "gaussian_bits",
    "label_bits",
    "told_accuracy",
]

_FRACTIONS = np.geomspace(1e-6, 1 - 1e-6, 48)
_LOGS = -0.5 * np.log1p(-_FRACTIONS)


def class_counts(prior: Sequence[float], n_records: int) -> list[int]:
    """Return the number of records of each class."""
    return [round(share * n_records) for share in prior]


def label_bits(prior: Sequence[float], n_records: int) -> float:
    """Return H: log2 of the number of orders of labels with these counts."""
    counts = class_counts(prior, n_records)
    logs = math.lgamma(sum(counts) + 1) - sum(math.lgamma(count + 1) for count in counts)
    return logs / math.log(2)


def counts_probability(prior: Sequence[float], n_records: int) -> float:
    """Return the probability that independent labels have exactly these counts: what knowing them is worth."""
    counts = class_counts(prior, n_records)
    log2s = sum(count * math.log2(count / n_records) for count in counts if count)
    return min(1.0, math.exp2(label_bits(prior, n_records) + log2s))


def counts_bits(prior: Sequence[float], n_records: int) -> float:
    """Return what exactly known class counts are worth: one more answer, of so many bits.

    Whatever has probability p for independent labels has probability ``2**bits p`` at most once the counts are given.
    """
    return max(0.0, -math.log2(counts_probability(prior, n_records)))


def fewest_answers(bits: float, each: float) -> int:
    """Return the fewest answers of ``each`` bits that hold ``bits``; what logarithms are off by takes none."""
    return math.ceil(bits / each * (1 - 1e-9))


def fano_accuracy(*, bits: float, entropy: float, n_records: int, n_classes: int) -> float:
    """Return the largest mean accuracy when ``bits`` of ``entropy`` are released.

    The mean error e has ``h(e) + e log2(K - 1) >= (entropy - bits) / N``; the least such e is found by bisection.
    """
    left = (entropy - bits) / n_records
    low, high = 0.0, 1 - 1 / n_classes
    if left <= 0:
        return 1.0
    for _ in range(60):
        error = (low + high) / 2
        low, high = (error, high) if _uncertainty(error, n_classes) < left else (low, error)
    return 1 - low


def told_accuracy(*, bits: float, prior: Sequence[float], n_records: int) -> float:
    """Return the largest mean accuracy when ``bits`` are released of labels in random order, counts known.

    The better of Fano and of the rate-distortion function, which is far below it where more than two classes are
    unequal: ``N R(1 - a) <= I(Y; T) + N H(p) - H(Y)``, as every label has the prior p.
    """
    entropy, classes = label_bits(prior, n_records), len(prior)
    fano = fano_accuracy(bits=bits, entropy=entropy, n_records=n_records, n_classes=classes)
    if classes == 2 or bits >= entropy:
        return fano
    each = (bits + counts_bits(prior, n_records)) / n_records * (1 + 1e-9)
    return min(fano, rate_distortion_accuracy(prior, each))


def _uncertainty(error: float, n_classes: int) -> float:
    if error <= 0:
        return 0.0
    binary = -error * math.log2(error) - (1 - error) * math.log2(1 - error)
    return binary + error * math.log2(n_classes - 1)


@functools.lru_cache(maxsize=256)
def gaussian_bits(*, spread: float, span: float, std: float, queries: int, enough: float) -> float:
    """Return the most bits that ``queries`` answers with Gaussian noise can carry, each query chosen after the last.

    An answer carries at most ``log2(1 + V / std**2) / 2``, V the variance of the score given the answers so far. At
    first V <= ``spread**2``. After D nats in all, V is at most ``min over x of 2 spread**2 (D - ln(1 - x) / 2) / x``
    (Donsker and Varadhan, as the score of independent labels is sub-Gaussian), and never more than ``span**2 / 4``.

    Args:
        spread: L / (2 sqrt(N)) for scores of N independent labels. Of labels in random order, class counts known, the
            score's variance is N / (N - 1) times as large, and it is sub-Gaussian with ``sqrt(2)`` times the deviation
            for two classes (guard, ``score_variance``), twice for more (exchanging two moves it by 2 L / N; Maurey).
        span: L, the range of the scores that one query can have.
        std: Of the noise.
        queries: q.
        enough: Stop at this many bits.
    """
    nats = 0.0
    for _ in range(queries):
        variance = spread**2 if nats == 0 else float(np.min((nats + _LOGS) / _FRACTIONS)) * 2 * spread**2
        nats += math.log1p(min(variance, span**2 / 4) / std**2) / 2
        if nats > enough * math.log(2):
            return math.inf
    return nats / math.log(2)
