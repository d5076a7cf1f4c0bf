"""Which primes divide a number, for all of them at once (decoder of ICML 2021, Theorems 1, 3 and 8).

The paper divides by one prime after the other: N divisions of a number of N ln N bits, quadratic. A **remainder
tree** (Bernstein, *Fast multiplication and its applications*, 2008) reduces the number modulo the products of a
balanced tree of moduli from the root down, at the cost of a few multiplications a level: quasi-linear.

Example:
    >>> import numpy as np
    >>> divisors(165, np.array([2, 3, 5, 7, 11])).tolist()
    [False, True, True, False, True]
    >>> exponents(2**3 * 5, np.array([2, 3, 5]), largest=3).tolist()
    [3, 0, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic.exact import product

__all__ = ["divisors", "exponents", "product_tree", "remainders"]

Level = list[Any]  #: integers, ``gmpy2.mpz``

_GROUP = 32  # moduli whose product is still cheap to divide by each of them


def product_tree(moduli: Sequence[Any]) -> list[Level]:
    """Return the levels of the balanced tree of products, from the moduli themselves to their product.

    Args:
        moduli: At least one positive integer. A node without a sibling moves up as it is.
    """
    levels = [[gmpy2.mpz(modulus) for modulus in moduli]]
    while len(levels[-1]) > 1:
        below = levels[-1]
        odd = below[-1:] if len(below) % 2 else []
        levels.append([*map(gmpy2.mul, below[0::2], below[1::2]), *odd])
    return levels


def remainders(number: Any, moduli: Sequence[Any]) -> Level:
    """Return ``number mod m`` for every modulus, by a remainder tree over groups of neighbouring moduli.

    Args:
        number: An integer.
        moduli: Positive integers.
    """
    groups = [moduli[start : start + _GROUP] for start in range(0, len(moduli), _GROUP)]
    if not groups:
        return []
    *below, root = product_tree([product([gmpy2.mpz(modulus) for modulus in group]) for group in groups])
    known = [gmpy2.f_mod(gmpy2.mpz(number), root[0])]
    for level in reversed(below):
        known = [gmpy2.f_mod(known[index // 2], modulus) for index, modulus in enumerate(level)]
    return [gmpy2.f_mod(rest, modulus) for rest, group in zip(known, groups, strict=True) for modulus in group]


def divisors(number: Any, primes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the primes divide ``number``, shape ``(len(primes),)``."""
    return np.array([remainder == 0 for remainder in remainders(number, primes.tolist())], dtype=bool)


def exponents(number: Any, primes: NDArray[np.int64], *, largest: int = 1) -> NDArray[np.intp]:
    """Return the exponent of every prime in ``number``, at most ``largest``, shape ``(len(primes),)``.

    Args:
        number: An integer; zero has every exponent.
        primes: Distinct primes.
        largest: Largest exponent of interest, at least 1. Only the residue modulo ``p ** largest`` is looked at.
    """
    listed = primes.tolist()
    residues = remainders(number, [gmpy2.mpz(prime) ** largest for prime in listed])
    found = [
        largest if not rest else gmpy2.remove(rest, prime)[1] for rest, prime in zip(residues, listed, strict=True)
    ]
    return np.array(found, dtype=np.intp)
