"""Powers of two: gaps that double from row to row, so that every sum of them is a multiple of one unit.

Both score papers separate all labellings by at least ``2 tau`` with ``v_i = 3**(2**i * N * tau)`` (Aggarwal et al.,
ICML 2021, Algorithms 2 and 3; AISTATS 2022, Theorem 1 and Corollary 1), that is with gaps
``d_i = 2**i * N * tau * ln 3`` of the log-loss. Base e is enough: then the separation is exactly ``2 tau``, and the
same clip carries the same labels through ln 3 times more noise.

What is repaired here (each counterexample is a test):

* a gap must *equal* ``2**i N tau``; "larger" does not separate (A-1: gaps 9, 9 collide);
* ``v_i = 3 * exp(2**i N tau)`` does not separate (I-9: 9 * 27 = 243), nor does ``3**(2**i) * N * tau`` (A-14);
* of K classes the k-th costs the exponent with k = 1..K (A-9: with k = 0 the separation is halved).

Example:
    >>> power_gaps(3, n_records=3, tau=0.1).round(6).tolist()
    [0.6, 1.2, 2.4]
    >>> round(largest_tau(3, n_records=3, span=2.4), 9)
    0.1
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "class_exponents",
    "largest_loss",
    "largest_tau",
    "power_gaps",
    "printed_labels_per_query",
    "sufficient_bits",
    "units",
]


def power_gaps(n_labels: int, *, n_records: int, tau: float, base: float = math.e) -> NDArray[np.float64]:
    """Return the gaps ``d_i = 2**i * N * tau * ln(base)`` for i = 1..m.

    Args:
        n_labels: m, the rows that carry a label.
        n_records: N, the rows that the score averages over.
        tau: Noise to survive, in units of the score.
        base: 3 as printed; e is the least that separates by ``2 tau``.

    Returns:
        Shape ``(n_labels,)``, ascending. Two sums of different subsets differ by at least ``2 N tau ln(base)``.
    """
    return np.ldexp(n_records * tau * math.log(base), np.arange(1, n_labels + 1))


def class_exponents(n_labels: int, n_classes: int) -> NDArray[np.float64]:
    """Return the exponents ``2**((n - 1) K + k)`` of AISTATS 2022, Theorem 3, for n = 1..m and k = 1..K.

    Returns:
        Shape ``(n_labels, n_classes)``; times ``N * tau * ln(base)`` they are what label k *lowers* the cost by.
    """
    return np.ldexp(1.0, np.arange(1, n_labels * n_classes + 1)).reshape(n_labels, n_classes)


def units(n_labels: int, n_classes: int) -> float:
    """Return how many ``N * tau * ln(base)`` the widest row spans.

    Two classes need one gap a row, ``2**m``. K classes as printed need ``2**(mK) - 2**((m-1)K + 1)``, where mixed
    radix makes do with ``2 (K-1) K**(m-1)``.
    """
    if n_classes == 2:
        return 2.0**n_labels
    return 2.0 ** (n_labels * n_classes) - 2.0 ** ((n_labels - 1) * n_classes + 1)


def largest_tau(n_labels: int, *, n_records: int, span: float, n_classes: int = 2, base: float = math.e) -> float:
    """Return the largest ``tau`` for which m labels fit into a clip of span L: ``L / (N 2**m ln(base))``."""
    return span / (n_records * math.log(base) * units(n_labels, n_classes))


def printed_labels_per_query(phi: int, *, n_records: int, tau: float) -> int:
    """Return the m that ICML 2021, Algorithm 3, line 4 prints: two logarithms, rounded up, and the smaller of them.

    Its own accounting is ``phi >= 8 + 2**m N tau ln 2``, which asks to round the second one down (erratum I-13).

    Args:
        phi: Bits of the papers' FPA(phi), more than 8.
        n_records: N.
        tau: Noise to survive, in units of the score.
    """
    affordable = math.log2((phi - 8) / (n_records * tau * math.log(2)))
    return min(math.ceil(math.log2(n_records)), math.ceil(affordable))


def sufficient_bits(n_labels: int, *, n_records: int, tau: float) -> int:
    """Return a phi for which m labels of a query in base 3 can be told in FPA(phi), under every ``|noise| <= tau``.

    ``(phi - 1) / 2 >= 2**m N tau log2(3) + log2(max(4, 16 / tau))``, which repairs ICML 2021, Theorem 7. Proof: let
    ``d = 2**m N tau ln 3`` be the widest gap and h the step of the format. As ``h <= e**-d / 4``, rounding moves a
    probability ``q = 1 / (1 + e**d_i)`` by a quarter of it at most, hence its gap by at most
    ``(h / 2) / (.46875 q) <= 2.134 h e**d``, and the distance of two sums by m times that. With the answer's rounding,
    ``2 N tau ln 3 - 2.134 m h e**d > N (2 tau + h)`` is enough, and follows from ``15.9 h e**d < tau`` for m <= N.

    Args:
        n_labels: m, at most N.
        n_records: N.
        tau: Noise to survive, in units of the score, more than 0.
    """
    half = 2.0**n_labels * n_records * tau * math.log2(3) + math.log2(max(4.0, 16 / tau))
    return 2 * math.ceil(half) + 1


def largest_loss(n_labels: int, *, n_records: int, tau: float, base: float = math.e) -> float:
    """Return the largest log-loss of a query about m rows, all others at one half: that of m labels of 0.

    It is at most ``ln 2 + ln(base) (2**(m+1) - 2) tau``, as ``1 + x <= 2 x`` for x >= 1; the proof of ICML 2021,
    Theorem 7 has ``2**(m+1) tau`` (erratum I-15).
    """
    gaps = power_gaps(n_labels, n_records=n_records, tau=tau, base=base)
    block = float(np.logaddexp(0.0, gaps).sum())
    return (block + (n_records - n_labels) * math.log(2)) / n_records
