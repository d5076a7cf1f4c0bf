"""The certificate's gain again, in whole numbers: no float, no library, nothing of the first implementation.

Shares are in millionths. Logarithms are bounded from below and above by squaring; every rounding makes the
gain larger. For labels without noise and without groups; of two classes by the entropy of coins beside sure records, of
more by ``min(sqrt(ln 2 B / 2N), sqrt(ln 2 D B / N), D)``.

Example:
    >>> gain_again(726 * 1024, 25_000, 2, 500_000) / 1e4
    9.9985
"""

from __future__ import annotations

__all__ = ["board_again", "counts_again", "gain_again"]

_ONE = 10**6
_POWER = 1 << 40  #: logarithms are counted in
_FINE = 128  #: binary digits that are kept
_LN2 = 693148  # millionths, rounded up


def board_again(budget: int, public: int, sealed: int, classes: int, left: int, *, known: bool) -> int:
    """Return the gain before the final release, in millionths of all labels, rounded up.

    Args:
        budget: In 1/1024 bit; -1: none.
        public: Labels that are scored.
        sealed: The others.
        classes: K.
        left: What a perfect model leaves, in millionths.
        known: Whether class counts are known.
    """
    counts = counts_again(public + sealed, classes) if known else 0
    scored = left if budget < 0 else gain_again(budget + counts, public, classes, left)
    unscored = gain_again(counts, sealed, classes, left) if sealed else 0
    return -(-(scored * public + unscored * sealed) // (public + sealed))


def counts_again(labels: int, classes: int) -> int:
    """Return ``(K - 1) log2(N + 1)`` in 1/1024 bit, rounded up."""
    return (classes - 1) * -(-_log_above(labels + 1) * 1024 // _POWER)


def gain_again(bits: int, labels: int, classes: int, left: int) -> int:
    """Return the least gain, in millionths, that ``bits`` 1/1024 bits provably do not exceed."""
    low, high = 0, left
    while low < high:
        middle = (low + high) // 2
        if _enough(bits, labels, classes, left, middle):
            high = middle
        else:
            low = middle + 1
    return low


def _enough(bits: int, labels: int, classes: int, left: int, gain: int) -> bool:
    """Whether a gain costs at least so many bits."""
    if gain >= left:
        return True
    if classes > 2:
        told = _LN2 * bits * _ONE
        square = gain * gain * labels * 1024
        return told <= 2 * square or told * left <= square * _ONE
    # 2 D N (1 - h(q)), q = (D - gain) / (2 D), against B
    right, whole = left - gain, 2 * left
    wrong = whole - right
    entropy = whole * _log_above(whole) - right * _log_below(right) - wrong * _log_below(wrong)  # times whole * _POWER
    return 2 * labels * (whole * _POWER - entropy) * 1024 * left >= bits * _ONE * whole * _POWER


def _log_below(value: int) -> int:
    """Return a whole number that ``_POWER log2 value`` is not below, by squaring: a bit of it at a time."""
    whole = value.bit_length() - 1
    mantissa = (value << _FINE) >> whole
    found = whole
    for _ in range(_POWER.bit_length() - 1):
        mantissa = mantissa * mantissa >> _FINE
        found <<= 1
        if mantissa >> _FINE + 1:
            mantissa >>= 1
            found += 1
    return found


def _log_above(value: int) -> int:
    """Return a whole number that it is not above: what was cut off while squaring is far below two."""
    return _log_below(value) + 2
