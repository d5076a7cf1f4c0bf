"""Logarithms, a sum over a lattice and a tail, in whole numbers: no float, nothing of the first implementation.

Logarithms are multiples of ``1 / POWER``, bounded from below and above by squaring. All is rounded to the safe side.

Example:
    >>> log_below(8) == 3 * POWER, 0 <= log_above(10) - log_below(10) <= 2
    (True, True)
    >>> lattice_above(1, 1, 1) / 1e6, lattice_above(10**6, 10**12, 1) / 1e6  # the latter is 2 Phi(1/2) - 1 = .3829249
    (0.398943, 0.382926)
"""

from __future__ import annotations

import math

__all__ = ["ONE", "POWER", "lattice_above", "log_above", "log_below", "tail_above"]

ONE = 10**6  #: shares are in millionths
POWER = 1 << 40  #: logarithms are counted in
_FINE = 128  #: binary digits that are kept
_DIGITS = 512  # binary digits of a distance: its series has terms up to 2**73 for the largest mu
_LARGE = 10  # deviations, beyond which nothing of a millionth lies
_MANY = 10**7  # variance, from which integrals are as good as sums


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


def lattice_above(shift: int, top: int, bottom: int) -> int:
    """Return what a discrete Gaussian gives to the ``shift`` integers around 0, in millionths, rounded up.

    Where there are not too many steps in a deviation they are added one by one. Else the weight of an integer is at
    most the integral over its cell and the largest fall of the slope, ``1 / 24 variance``.

    Args:
        shift: m, at least 1.
        top: Of its variance, at least 1.
        bottom: Of that.
    """
    if shift * shift * bottom >= (2 * _LARGE) ** 2 * top:
        return ONE
    if top < _MANY * bottom:
        return min(ONE, _added(shift, top, bottom))
    return min(ONE, _integral(shift * shift * bottom, top) + -(-_LARGE * ONE * bottom // (12 * top)))


def _added(shift: int, top: int, bottom: int) -> int:
    """Add the weights ``exp(-k**2 bottom / 2 top)``: each is the one before times a ratio that falls by a constant."""
    one = 1 << _FINE * 2
    weight, ratio, twice = one, _decayed(bottom, 2 * top), _decayed(bottom, top)
    half = [weight]
    while weight > 1 << _FINE // 2 or len(half) <= shift // 2:
        weight = (weight * ratio >> _FINE * 2) + 1
        ratio = (ratio * twice >> _FINE * 2) + 1
        half.append(weight)
    inside = 2 * sum(half[: (shift + 1) // 2]) - one + (0 if shift % 2 else half[shift // 2])
    total = 2 * sum(half) - one
    return -(-inside * ONE // (total - (total >> _FINE)))  # what was rounded up is far less of it


def _decayed(top: int, bottom: int) -> int:
    """Return ``exp(-top / bottom)`` from above, for a share of one at most, with ``2 _FINE`` digits."""
    term = total = 1 << _FINE * 2
    for k in range(1, _FINE):
        term = term * top // (bottom * k)
        total += (-1) ** k * term
    return total + 2 * _FINE


def _integral(top: int, bottom: int) -> int:
    """Return ``2 Phi(mu / 2) - 1`` in millionths, rounded up, for ``mu**2 = top / bottom``.

    ``sqrt(2 / pi)`` times the integral of ``exp(-t**2 / 2)`` from 0 to x, ``x = mu / 2``: its alternating series.
    """
    one = 1 << _DIGITS
    x = math.isqrt((top << 2 * _DIGITS) // (4 * bottom)) + 1
    square, term, total, k = x * x >> _DIGITS, x, 0, 0
    while term:
        total += (-1) ** k * (term // (2 * k + 1))
        k += 1
        term = term * square // (2 * k) >> _DIGITS
    total += 4 * k  # each of the terms was rounded
    factor = math.isqrt((2 * 10**15 << 2 * _DIGITS) // 3141592653589793) + 1  # pi is more
    return -(-total * factor * ONE // (one * one))


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
