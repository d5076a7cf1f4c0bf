"""The divisor of a product of primes whose logarithm is nearest to an observed one.

Rounding finds the right integer only while the error is below about ``1 / (2 P)``. The divisors of P are much farther
apart than its integers, so that looking for the nearest *divisor* survives about ``sqrt(P)`` times the error (see
:mod:`labelinf_papers.constructions.log_primes`), and under symmetric noise it is the likeliest answer. It is a subset
sum, found by meeting in the middle in about ``2 ** (m / 2)`` steps.

Example:
    >>> nearest_divisor(gmpy2.log(165) + 0.02, np.array([2, 3, 5, 7, 11])).tolist()
    [0, 1, 1, 0, 1]
"""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.decoders.meet_in_the_middle import nearest_labelling

__all__ = ["nearest_divisor"]


def nearest_divisor(
    logarithm: Any, primes: NDArray[np.int64], *, largest: int = 1, bits: int = 320
) -> NDArray[np.intp]:
    """Return the exponents of the divisor of ``prod(p_i ** largest)`` that is nearest in the logarithm.

    Logarithms are compared as integers, multiples of ``2**-bits``.

    Args:
        logarithm: A finite number.
        primes: Distinct primes, shape ``(m,)``.
        largest: Largest exponent of each.
        bits: Binary digits behind the point.

    Returns:
        Exponents 0..largest, shape ``(m,)``.

    Raises:
        ValueError: There are too many divisors for a table, even of half the primes.
    """
    with gmpy2.context(precision=bits + 64):
        scale = gmpy2.exp2(bits)
        logs = [int(scale * gmpy2.log(gmpy2.mpfr(prime))) for prime in primes.tolist()]
        target = int(scale * gmpy2.mpfr(logarithm))
    costs = np.array([[e * log for e in range(largest + 1)] for log in logs], dtype=object)
    return nearest_labelling(costs, target)
