"""From a loss to the integer that it spells out: exponentiate and round.

The exact constructions make ``N * loss = ln(T / X)`` with a known T and an integer X. The papers look for the
integer nearest to ``T exp(-N loss)`` among those that can occur (a sub-exponential search, AISTATS 2022,
Section 3.2). While the error of the logarithm is below ``ln(1 + 1 / (2 X))`` plain rounding finds it (erratum A-7).

Example:
    >>> spelled_integer(0.7470137673166621, 5, 6912, bits=64)
    mpz(165)
"""

from __future__ import annotations

from typing import Any

import gmpy2

__all__ = ["exponential", "nearest_integer", "spelled_integer"]

_ESTIMATE = 128  # bits in which the size of an integer is estimated, to a millionth of a bit for 2**64 records


def spelled_integer(score: Any, n_records: int, normaliser: Any, *, bits: int) -> Any:
    """Return the integer X nearest to ``T exp(-N score)``, at the cost of one exponential of as many bits as X has.

    The answer has as many bits as the *largest* integer needs. Those that X needs are ``log2(X) + log2(ln T) + 6``: at
    this precision, rounding the score, its product with N, T and the exponential move the logarithm by
    ``8 ln T 2**-w``, a quarter of ``1 / X``, and what the answer is off by ``needed_bits`` leaves at most as much.

    Args:
        score: The mean loss, a finite number.
        n_records: N.
        normaliser: T, a positive integer.
        bits: Precision of the score; see :func:`labelinf_scores.constructions.primes.needed_bits`.
    """
    with _context(_ESTIMATE):
        largest = gmpy2.log(gmpy2.mpfr(normaliser))
        logarithm = largest - n_records * gmpy2.mpfr(score)
        own = gmpy2.ceil(max(logarithm, gmpy2.mpfr(0)) / gmpy2.log(2)) + gmpy2.ceil(gmpy2.log2(largest + 2)) + 6
    with _context(int(min(own, bits))):
        return gmpy2.mpz(gmpy2.rint(gmpy2.mpfr(normaliser) * gmpy2.exp(-n_records * gmpy2.mpfr(score))))


def exponential(logarithm: Any, largest: Any, *, bits: int) -> Any:
    """Return ``exp(logarithm)``, moved into 1..``largest`` where noise has driven it out.

    Args:
        logarithm: A finite number.
        largest: P, the largest integer that can occur.
        bits: Precision of the exponential.
    """
    with _context(bits):
        within = min(max(gmpy2.mpfr(logarithm), gmpy2.mpfr(0)), gmpy2.log(gmpy2.mpfr(largest)) + 1)
        return min(gmpy2.exp(within), gmpy2.mpz(largest))


def nearest_integer(logarithm: Any, largest: Any, *, bits: int) -> Any:
    """Return the integer in 1..``largest`` nearest to ``exp(logarithm)``; see :func:`exponential`."""
    with _context(bits):
        return gmpy2.mpz(gmpy2.rint(gmpy2.mpfr(exponential(logarithm, largest, bits=bits))))


def _context(bits: int) -> Any:
    return gmpy2.context(precision=bits, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())
