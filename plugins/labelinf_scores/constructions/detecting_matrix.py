"""Detecting matrices: few sums of signs that name many bits.

A matrix with entries -1, 0 and 1 is *detecting* when the sums ``D x`` tell all 0-1 vectors x apart. The recursion of
Cantor and Mills (D. G. Cantor and W. H. Mills, *Canadian Journal of Mathematics* 18, 1966)::

    D_0 = [1]        D_k = [ D   D   I ]      with D = D_(k-1)
                           [ D  -D   0 ]

gives ``2**k`` rows and ``(k + 2) 2**(k-1)`` columns: 1 + k/2 bits for every sum. Proof by induction: the two halves of
``D_k (u, v, w)`` add up to ``2 D u + w``, so their parity is w; what remains is ``D u`` and ``D v``.

Example:
    >>> matrix = DetectingMatrix(level=1)
    >>> [matrix.row(t).tolist() for t in range(matrix.n_rows)]
    [[1, 1, 1], [1, -1, 0]]
    >>> DetectingMatrix(level=10).n_columns / DetectingMatrix(level=10).n_rows
    6.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DetectingMatrix"]


@attrs.frozen(kw_only=True)
class DetectingMatrix:
    """D_k; made row by row, never stored.

    Attributes:
        level: k, at least 0.
    """

    level: int = attrs.field(validator=attrs.validators.ge(0))

    @property
    def n_rows(self) -> int:
        """Number of sums, ``2**k``."""
        return 1 << self.level

    @property
    def n_columns(self) -> int:
        """Number of bits, ``(k + 2) 2**(k-1)``."""
        return (self.level + 2 << self.level) >> 1

    def row(self, index: int) -> NDArray[np.int8]:
        """Return one row, shape ``(n_columns,)``.

        Args:
            index: In [0, n_rows).
        """
        row = np.ones(1, dtype=np.int8)
        for level in range(self.level):
            lower, place = index >> level & 1, index & (1 << level) - 1
            last = np.zeros(1 << level, dtype=np.int8)
            last[place] = 1 - lower
            row = np.concatenate([row, -row if lower else row, last])
        return row
