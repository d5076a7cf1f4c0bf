"""What no attack of the score channel can do: negative results, as numbers.

All are proved for additive losses of span L (the most by which one record moves N times the score), and for every
construction and decoder. N is the number of records, K of classes, m of records asked about, tau the noise. Noise is
*closed* where an attack must survive ``|noise| <= tau`` and *open* where ``|noise| < tau``.

The papers' own negative results are here as corrected: AISTATS 2022, Theorem 9 and Corollary 3 (A-13: the separation is
at most range / (K**N - 1), not range / N) and ICML 2021, Theorems 5 and 6 (I-10, I-11: the sharp form is Erdős's
distinct subset sums problem and open; what is proved instead is a central binomial coefficient).

Example:
    >>> round(pigeonhole_tau(4, n_records=4, span=36.0436533891), 6)
    1.201455
    >>> round(sperner_tau(4, n_records=4, span=36.0436533891), 6)
    0.750909
    >>> labels_in_one_answer(53)
    53
"""

from __future__ import annotations

import math

__all__ = [
    "answer_entropy",
    "is_robust",
    "labels_in_one_answer",
    "least_log_entry",
    "least_widest_gap",
    "pigeonhole_tau",
    "separation_ceiling",
    "sperner_tau",
    "variance_widest_gap",
]


def is_robust(separation: float, tau: float, *, closed: bool) -> bool:
    """Whether every labelling can be told from a score that is off by tau.

    Under open noise iff the separation is at least ``2 tau`` (AISTATS 2022, Proposition 1); under closed noise iff it
    exceeds ``2 tau``, since half-way between two scores ties (ICML 2021, Lemma 5; A-10).

    Args:
        separation: Least difference of the scores of two distinct labellings.
        tau: Noise.
        closed: Whether noise of exactly tau occurs.
    """
    return separation > 2 * tau if closed else separation >= 2 * tau


def separation_ceiling(value_range: float, n_records: int, n_classes: int = 2) -> float:
    """Return the largest possible separation of all labellings: ``range / (K**N - 1)``.

    K**N different values that are ``Lambda`` apart span at least ``(K**N - 1) Lambda``; no monotonicity is needed, and
    mixed radix attains it (AISTATS 2022, Theorem 9, corrected). Robust inference is impossible for noise above half
    of it.

    Args:
        value_range: Largest minus smallest value of the loss.
        n_records: N.
        n_classes: K.
    """
    exponent = n_records * math.log(n_classes)  # ln(K**N - 1) without overflow
    return value_range * math.exp(-exponent - math.log1p(-math.exp(-exponent)))


def pigeonhole_tau(n_labels: int, *, n_records: int, span: float, n_classes: int = 2) -> float:
    """Return the open noise above which no query tells m labels: ``m L / (2 N (K**m - 1))``.

    The m rows move N times the score by at most ``m L`` between them.
    """
    return separation_ceiling(n_labels * span, n_labels, n_classes) / (2 * n_records)


def least_widest_gap(n_labels: int, separation: float = 1.0) -> float:
    """Return a lower bound of the widest of m real gaps whose subset sums are ``separation`` apart.

    ``separation * C(m, floor(m / 2))``. The ``2**(m - 1)`` sign vectors with a negative sum have, by Harper's theorem,
    at least C(m, floor(m / 2)) neighbours with a positive one, and all of these sums lie within twice the widest gap
    (Q. Dubroff, J. Fox, M. W. Xu, 2021). It replaces ICML 2021, Theorem 5.
    """
    return separation * math.comb(n_labels, n_labels // 2)


def variance_widest_gap(n_labels: int, separation: float = 1.0) -> float:
    """Return an elementary lower bound of the same: ``separation * sqrt((4**m - 1) / (3 m))``.

    The sums of random signs have variance ``sum d_i**2 <= m max d**2``, and 2**m values ``2 separation`` apart have at
    least the variance of equally spaced ones.
    """
    return separation * math.sqrt((4**n_labels - 1) / (3 * n_labels))


def sperner_tau(n_labels: int, *, n_records: int, span: float) -> float:
    """Return the open noise above which no query tells m binary labels: ``L / (2 N C(m, floor(m / 2)))``."""
    return span / (2 * n_records * least_widest_gap(n_labels))


def least_log_entry(n_records: int, tau: float) -> float:
    """Return a lower bound of ``max_i |ln v_i|`` of every tau-robust vector: ``2 N tau C(N, floor(N / 2))``.

    It replaces ICML 2021, Theorem 6. The bound is on the *logarithm's size*: small entries are as good as large ones.
    """
    return 2 * n_records * tau * least_widest_gap(n_records)


def labels_in_one_answer(significant_bits: int = 53) -> int:
    """Return the most binary labels that one answer with p significant bits tells with certainty: p, for p > 1.

    Any additive loss that is never negative, any theta, N and clip: by the symmetry between a labelling and its
    complement, ``2**(m - 1)`` sums lie within a factor of two of one another, where there are ``2**(p - 1) + 1``
    floating-point numbers (labelinf theory, the 53-label limit). For more than two classes there is no symmetry.
    """
    numbers = (1 << (significant_bits - 1)) + 1
    return numbers.bit_length()


def answer_entropy(*, n_records: int, span: float, step: float) -> float:
    """Return an upper bound, in bits, of what one rounded answer tells on average about uniform binary labels.

    The score then has a variance of at most ``L**2 / (4N)``; no rounded variable of that variance has more entropy
    than ``log2(2 pi e (v + 1/12)) / 2`` with ``v = (L / (2 sqrt(N) step) + 1/2)**2``.
    """
    deviation = span / (2 * math.sqrt(n_records) * step) + 0.5
    return math.log2(2 * math.pi * math.e * (deviation**2 + 1 / 12)) / 2
