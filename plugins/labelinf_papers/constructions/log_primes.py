"""Logarithms of primes as gaps: Construction 2 of Aggarwal et al., AISTATS 2022 (Theorem 2, Corollary 2).

With gaps ``d_i = c N tau ln p_i`` the score of a labelling is ``h + c tau ln A``, where A is the product of the primes
of the rows labelled 1: any loss whose span is wide enough tells an integer. How wide is the scale c:

============================  ====================================================================================
``3 P``                       as printed (P the product of the primes). Decodes by rounding (erratum A-7):
                              ``exp(eta / (3 P tau)) A`` with ``abs(eta) <= tau`` is within .363 of the integer A.
``2 sqrt(P + 1/4)``           enough to keep any two labellings ``2 tau`` apart; decodes to the nearest divisor.
``2 / rho``                   the least that does, rho being the smallest gap between logarithms of divisors of P.
============================  ====================================================================================

In the form with a mean (equation 3) the scale needs the factor N, which Theorem 2 leaves out (erratum A-6).

Proof of the second line: for coprime divisors A > B of P, ``A B <= P`` and ``A >= B + 1``, so
``ln(A / B) >= ln(1 + 1 / s)`` where ``s (s + 1) = P``, and ``ln(1 + 1 / s) > 1 / (s + 1/2) = 1 / sqrt(P + 1/4)``.

Example:
    >>> primes = np.array([2, 3, 5])
    >>> str(closest_ratio(primes)), round(2 / separation(primes), 2), printed_scale(primes)
    ('6/5', 10.97, 90)
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import gmpy2
import numpy as np

from labelinf_scores.constructions.primes import prime_product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelinf_scores.arithmetic import Arithmetic

__all__ = ["closest_ratio", "log_prime_gaps", "printed_scale", "separation", "separation_floor", "small_scale"]

_MOST_LISTED = 2**20  # divisors, a tenth of a second to sort


def log_prime_gaps(primes: NDArray[np.int64], unit: Any, numbers: Arithmetic) -> NDArray[Any]:
    """Return the gaps ``unit * ln p_i`` in ``numbers``, shape ``(m,)``.

    Args:
        primes: Distinct primes.
        unit: ``c N tau``; or 1 for exact scores (Theorem 2 with tau = 0), or 1 / N for exact scores of a loss of
            bounded span (Corollary 2).
        numbers: The arithmetic to compute in.
    """
    with numbers.context():
        return np.asarray(numbers.convert(unit) * numbers.log(numbers.convert(primes)))


def printed_scale(primes: NDArray[np.int64]) -> int:
    """Return the paper's scale ``3 P``."""
    return 3 * int(prime_product(primes))


def small_scale(primes: NDArray[np.int64]) -> float:
    """Return ``2 sqrt(P + 1/4)``, which the nearest-divisor decoder needs at most."""
    return 2 / separation_floor(primes)


def closest_ratio(primes: NDArray[np.int64], exponent: int = 1) -> Any:
    """Return the smallest ratio above 1 of two divisors of ``prod(p_i ** exponent)``, a rational.

    Its logarithm is rho: the least distance between the logarithms that two labellings spell out. Lists and sorts all
    ``(exponent + 1) ** m`` divisors; the closest two are neighbours.
    """
    divisors = [gmpy2.mpz(1)]
    for prime in primes.tolist():
        divisors = [gmpy2.mpz(prime) ** e * divisor for e in range(exponent + 1) for divisor in divisors]
    divisors.sort()
    return min(gmpy2.mpq(upper, lower) for lower, upper in itertools.pairwise(divisors))


def separation_floor(primes: NDArray[np.int64], exponent: int = 1) -> float:
    """Return ``1 / sqrt(P + 1/4)``, a lower bound of rho in closed form, P being ``prod(p_i ** exponent)``."""
    with gmpy2.context(precision=64):
        return float(1 / gmpy2.sqrt(gmpy2.mpfr(prime_product(primes, exponent)) + 0.25))


def separation(primes: NDArray[np.int64], exponent: int = 1) -> float:
    """Return a lower bound of rho, tight to 12 digits while the divisors can be listed, in closed form beyond."""
    if (exponent + 1) ** len(primes) > _MOST_LISTED:
        return separation_floor(primes, exponent)
    return _listed_separation(tuple(primes.tolist()), exponent)


@functools.lru_cache
def _listed_separation(primes: tuple[int, ...], exponent: int) -> float:
    """Sort all logarithms; each is a sum of m rounded terms, so that it errs by at most m + 1 units of the largest."""
    sums = np.zeros(1)
    for prime in primes:
        sums = np.add.outer(np.arange(exponent + 1) * math.log(prime), sums).ravel()
    error = (len(primes) + 1) * math.ulp(float(sums[-1]))
    return float(np.diff(np.sort(sums)).min()) - 2 * error
