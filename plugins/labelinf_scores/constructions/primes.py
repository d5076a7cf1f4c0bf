"""Distinct primes as gaps: every labelling has a product of its own (Aggarwal et al., ICML 2021, Theorem 1).

Row i predicts class 1 with probability ``u_i = p_i / (1 + p_i)``. With ``T = prod(1 + p_i)`` and
``P = prod(p_i)``, N times the log-loss of a labelling is ``ln(T / X)``, where ``X`` is the product of the primes of
the rows labelled 1. So ``X = T exp(-N loss)`` is an integer, and its divisors are the labels.

Example (the paper's):
    >>> primes = first_primes(5)
    >>> primes.tolist(), [str(u) for u in prime_predictions(primes)]
    ([2, 3, 5, 7, 11], ['2/3', '3/4', '5/6', '7/8', '11/12'])
    >>> needed_bits(primes)
    21
"""

from __future__ import annotations

import bisect
import math
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic.exact import product

__all__ = [
    "first_primes",
    "needed_bits",
    "prime_predictions",
    "prime_product",
    "primes_up_to",
    "printed_block_size",
    "rounding_margin",
]


def primes_up_to(bound: int) -> NDArray[np.int64]:
    """Return the primes that do not exceed ``bound``, ascending, by the sieve of Eratosthenes."""
    is_prime = np.ones(max(bound, 1) + 1, dtype=bool)
    is_prime[:2] = False
    for divisor in range(2, math.isqrt(max(bound, 1)) + 1):
        if is_prime[divisor]:
            is_prime[divisor * divisor :: divisor] = False
    return np.flatnonzero(is_prime).astype(np.int64)


def first_primes(count: int) -> NDArray[np.int64]:
    """Return the first ``count`` primes, ascending.

    ``p_n < n (ln n + ln ln n)`` for n >= 6 (Rosser and Schoenfeld, 1962) bounds the sieve.
    """
    n = max(count, 6)
    return primes_up_to(math.ceil(n * (math.log(n) + math.log(math.log(n)))))[:count]


def prime_predictions(primes: NDArray[np.int64]) -> NDArray[Any]:
    """Return ``u_i = p_i / (1 + p_i)`` as rationals, shape ``(n,)``: the prediction vector of Theorem 1."""
    predictions = np.empty(len(primes), dtype=object)
    predictions[:] = [gmpy2.mpq(prime, prime + 1) for prime in primes.tolist()]
    return predictions


def prime_product(primes: NDArray[np.int64], exponent: int = 1) -> Any:
    """Return ``P = prod(p_i ** exponent)``, a ``gmpy2.mpz``; 1 when there are no primes."""
    return product([gmpy2.mpz(1), *(gmpy2.mpz(prime) ** exponent for prime in primes.tolist())])


def needed_bits(primes: NDArray[np.int64], exponent: int = 1, *, offset: float = 0.0) -> int:
    """Return the precision at which an exact answer decodes by rounding, whatever the labels.

    ``w = bitlen(P) + 1 + ceil(log2(ln T)) + 4`` with ``T = prod(1 + p_i + ... + p_i ** exponent)``. Proof: the answer
    is one logarithm of one rational, at most ``ln T`` in size. Logarithm, division by N, multiplication by N and
    exponential err by at most ``(4 + 1 + 1 + 1) 2**-w`` relative to it, so the logarithm of the product errs by at
    most ``8 ln T 2**-w <= 2**-(bitlen(P) + 2) <= 1 / (2 P + 1) < ln(1 + 1 / (2 P))``: the product lands within one
    half of its integer.

    Args:
        primes: The primes in use.
        exponent: Largest exponent of each; P is the product of the largest powers.
        offset: What rows without a prime add to N times the loss, in nats.

    Guarantees:
        Every labelling of adversarial parity decodes at this precision (``tests/papers/exact/test_primes_attack.py``).
    """
    logs = np.log(primes)
    row_sums = (exponent + 1) * logs + np.log1p(-np.exp(-(exponent + 1) * logs)) - np.log(primes - 1)
    largest = float(row_sums.sum()) + offset
    return int(prime_product(primes, exponent).bit_length()) + 5 + math.ceil(math.log2(max(2.0, largest)))


def rounding_margin(largest: Any) -> float:
    """Return ``ln(1 + 1 / (2 P))``: the error of the logarithm that rounding to the nearest integer survives.

    Args:
        largest: P, the largest integer that can occur, at least 1.

    Returns:
        The margin; 0 where it is too small for a double.
    """
    return math.log1p(1 / (2 * int(largest)))


def printed_block_size(phi: int, *, most: int) -> int:
    """Return the labels per query that Algorithm 1, line 4 prints: the largest m with ``p_m <= 2**((phi - 5) / 4)``.

    It keeps the predictions apart, not the answers, and is far too large (erratum I-4): an answer of phi bits takes
    at most ``2**phi`` values, yet phi = 34 gives 36 labels.

    Args:
        phi: Bits of the papers' FPA(phi), at least 9.
        most: There are no more labels than that.
    """
    return bisect.bisect_right(first_primes(most).tolist(), 2 ** (phi - 5), key=lambda prime: prime**4)
