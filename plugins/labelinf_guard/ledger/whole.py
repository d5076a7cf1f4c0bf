"""Logarithms, a distance and a tail, in whole numbers: no float, no library, nothing of the first implementation.

Logarithms are multiples of ``1 / POWER``, bounded from below and above by squaring. All is rounded to the safe side.

Example:
    >>> log_below(8) == 3 * POWER, 0 <= log_above(10) - log_below(10) <= 2
    (True, True)
    >>> distance_above(1, 1) / 1e6  # 2 Phi(1/2) - 1 = .3829249
    0.382925
"""

from __future__ import annotations

import math

__all__ = ["ONE", "POWER", "distance_above", "log_above", "log_below", "tail_above"]

ONE = 10**6  #: shares are in millionths
POWER = 1 << 40  #: logarithms are counted in
_FINE = 128  #: binary digits that are kept
_DIGITS = 512  # binary digits of a distance: its series has terms up to 2**73 for the largest mu
_LARGE_MU = 20


def log_below(value: int) -> int:
    """Return a whole number that ``POWER log2 value`` is not below, by squaring: a bit of it at a time."""
    whole = value.bit_length() - 1
    mantissa = (value << _FINE) >> whole
    found = whole
    for _ in range(POWER.bit_length() - 1):
        mantissa = mantissa * mantissa >> _FINE
        found <<= 1
        if mantissa >> _FINE + 1:
            mantissa >>= 1
            found += 1
    return found


def log_above(value: int) -> int:
    """Return a whole number that it is not above: what was cut off while squaring is far below two."""
    return log_below(value) + 2


def distance_above(numerator: int, denominator: int) -> int:
    """Return ``2 Phi(mu / 2) - 1`` in millionths, rounded up, for ``mu**2 = numerator / denominator``.

    ``sqrt(2 / pi)`` times the integral of ``exp(-t**2 / 2)`` from 0 to x, ``x = mu / 2``: its alternating series.
    """
    if numerator >= _LARGE_MU**2 * denominator:
        return ONE
    one = 1 << _DIGITS
    x = math.isqrt((numerator << 2 * _DIGITS) // (4 * denominator)) + 1
    square, term, total, k = x * x >> _DIGITS, x, 0, 0
    while term:
        total += (-1) ** k * (term // (2 * k + 1))
        k += 1
        term = term * square // (2 * k) >> _DIGITS
    total += 4 * k  # each of the terms was rounded
    factor = math.isqrt((2 * 10**15 << 2 * _DIGITS) // 3141592653589793) + 1  # pi is more
    return min(ONE, -(-total * factor * ONE // (one * one)))


def tail_above(count: int, labels: int, share: tuple[int, int]) -> int:
    """Return ``POWER log2 P(Bin(labels, share) >= count)``, rounded up.

    Args:
        count: Above the mean, at most ``labels``.
        labels: n.
        share: Numerator and denominator, less than one.
    """
    right, wrong = share[0], share[1] - share[0]
    first = log_above(math.comb(labels, count))
    first += count * (log_above(right) if right else 0) + (labels - count) * log_above(wrong)
    first -= labels * log_below(share[1])
    term = total = 1 << _FINE  # in units of the first term
    for at in range(count, labels):
        term = term * (labels - at) * right // ((at + 1) * wrong) + 1
        total += term
        if term < 1 << _FINE // 4:  # what is left is a geometric series, of a ratio below that of the mean
            total += term * labels
            break
    return first + log_above(total) - _FINE * POWER
