"""The rate-distortion ceiling: bits per label as an accuracy, when every label has the same prior.

``R(D)`` of a prior p under Hamming distortion, by reverse water-filling: for ``mu`` in ``[0, p_2]`` and ``S`` the
classes with ``p_j > mu``, ``D = (|S| - 1) mu + sum of the others`` and ``R = H(p) - [eta(1 - D) + (|S| - 1) eta(mu) +
sum of eta(p_j) over the others]``, ``eta(x) = -x log2 x``. Of two classes it is Fano's inequality; of more, unequal
ones, it is far below. Posteriors that differ between records are *not* covered: a mean of .86 may be sure of most and a
coin on the rest.

Example:
    >>> seven, bits = (0.49, 0.365, 0.06, 0.035, 0.03, 0.01, 0.01), 20 * 9.967 + 6 * 13.288  # class counts known
    >>> round(100 * rate_distortion_accuracy(seven, bits / 10_000), 1)
    53.7
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["rate_distortion_accuracy"]

_HALVINGS = 100


def rate_distortion_accuracy(prior: Sequence[float], bits: float) -> float:
    """Return the largest mean accuracy when all that is told has ``bits`` bits a label.

    Args:
        prior: Share of every class, the same for all labels, known to whoever guesses.
        bits: Mutual information per label, at least 0.
    """
    shares = sorted((float(share) for share in prior), reverse=True)
    if bits >= math.fsum(map(_eta, shares)):
        return 1.0
    low, high = 0.0, shares[1]  # the rate falls as the water rises
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _point(shares, middle)[1] > bits else (low, middle)
    return 1 - _point(shares, low)[0]


def _point(shares: Sequence[float], level: float) -> tuple[float, float]:
    """Return distortion and rate at one level of the water."""
    above = [share for share in shares if share > level]
    below = [share for share in shares if share <= level]
    others = max(len(above) - 1, 0)
    distortion = others * level + math.fsum(below)
    kept = _eta(1 - distortion) + others * _eta(level) + math.fsum(map(_eta, below))
    return distortion, math.fsum(map(_eta, shares)) - kept


def _eta(share: float) -> float:
    return -share * math.log2(share) if share > 0 else 0.0
