"""The closest squarefree integer, the papers' decoder of log-prime gaps (Aggarwal et al., AISTATS 2022, Algorithm 1).

``SqFree(m)`` are the squarefree integers made of the first m primes: the divisors of their product, 1 included. The
printed algorithm leaves 1 out, answers 2 whenever m = 2, and takes the first hit below before the one above (erratum
A-8): all labels 0 decode to a label 1. It walks over the integers one by one besides.

None of it is needed: with the scale ``3 P`` the answer is within .363 of its integer, so that rounding decodes
(erratum A-7, :mod:`labelinf_papers.decoders.rounding`). Both forms are kept to show this.

Example:
    >>> primes = np.array([2, 3, 5])
    >>> [(closest_squarefree_printed(x, primes), closest_squarefree(x, primes)) for x in (1, 2.97, 12.6)]
    [(2, 1), (2, 3), (10, 15)]
"""

from __future__ import annotations

import bisect
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.primes import prime_product

__all__ = ["closest_squarefree", "closest_squarefree_printed", "squarefree_numbers"]


def squarefree_numbers(primes: NDArray[np.int64]) -> list[int]:
    """Return ``SqFree(m)``, the ``2 ** m`` products of distinct primes in use, ascending from 1."""
    products = [1]
    for prime in primes.tolist():
        products += [prime * product for product in products]
    return sorted(products)


def closest_squarefree(x: Any, primes: NDArray[np.int64]) -> int:
    """Return the member of ``SqFree(m)`` closest to ``x``; of two, the smaller."""
    numbers = squarefree_numbers(primes)
    place = bisect.bisect_left(numbers, x)
    return min(numbers[max(place - 1, 0) : place + 1], key=lambda number: abs(x - number))


def closest_squarefree_printed(x: Any, primes: NDArray[np.int64]) -> int:
    """Return what ``CloSqFree(x, m)`` returns as printed.

    Args:
        x: A positive number.
        primes: The first m primes.
    """
    largest = int(prime_product(primes))
    if x <= 2 or len(primes) == 2:
        return 2
    if largest <= x:
        return largest
    below, above = math.floor(x), math.ceil(x)
    candidates = (number for k in range(below) for number in (below - k, above + k))
    hit: int = next(number for number in candidates if largest % number == 0)
    return hit
