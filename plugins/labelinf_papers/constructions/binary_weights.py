"""Binary weights in one exact query: N labels in N + O(log N) bits (labelinf theory, binary weights).

Primes spend ``N ln N`` bits on N labels. Gaps that halve from row to row spend one each: with ``d_i = t 2**(i - N)``,
i = 1..N, the labels are the binary digits of ``(N loss - base) 2**(N - 1) / t``. No construction does with fewer than
N bits, since there are ``2**N`` labellings to tell apart.

Example:
    >>> [str(gap) for gap in binary_gaps(4)], binary_bits(1000)
    (['1/8', '1/4', '1/2', '1'], 1032)
    >>> binary_digits(5.02 / 8, 4).tolist()
    [1, 0, 1, 0]
"""

from __future__ import annotations

from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

__all__ = ["binary_bits", "binary_digits", "binary_gaps"]


def binary_gaps(n_records: int, *, widest: Any = 1) -> NDArray[Any]:
    """Return the gaps ``widest * 2**(i - N)`` for i = 1..N as rationals, ascending, shape ``(N,)``.

    Args:
        n_records: N.
        widest: t, a power of two within the span of the loss.
    """
    gaps = np.empty(n_records, dtype=object)
    gaps[:] = [gmpy2.mpq(widest) / 2 ** (n_records - i) for i in range(1, n_records + 1)]
    return gaps


def binary_bits(n_records: int, *, widest: Any = 1) -> int:
    """Return the precision ``N + 2 ceil(log2 N) + 12`` at which an exact answer decodes, more if ``widest`` < 1.

    Proof: a cost is at most C = 2 and computed to within ``8 (1 + C)`` units ``2**-w``, the prediction sent moves it
    by less than four more, N costs are added one by one, and the sum is divided, released and multiplied by N. So N
    times the answer errs by at most ``(2 N**2 + 34 N) 2**-w < 64 * 4**ceil(log2 N) * 2**-w``, which is less than half
    of the smallest gap, ``2**-N``, from ``w = N + 2 ceil(log2 N) + 6`` on.

    Guarantees:
        Held for adversarial labellings in ``tests/papers/exact/test_exact_binary.py``.
    """
    shift = gmpy2.mpq(widest).denominator.bit_length() - 1
    return n_records + 2 * (n_records - 1).bit_length() + 12 + int(shift)


def binary_digits(total: Any, n_records: int, *, widest: Any = 1) -> NDArray[np.intp]:
    """Return the labels whose gaps add up to ``total`` up to half of the smallest, shape ``(N,)``.

    Args:
        total: A finite number; what noise has moved out of range is brought back into it.
        n_records: N.
        widest: As in :func:`binary_gaps`.
    """
    step = gmpy2.mpq(widest) / 2 ** (n_records - 1)
    number = min(max(round(gmpy2.mpq(total) / step), 0), 2**n_records - 1)
    digits = np.frombuffer(number.to_bytes((n_records + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(digits, count=n_records, bitorder="little").astype(np.intp)
