"""Conway and Guy's weights: distinct sums from weights that are all narrower than the widest power of two.

``u_0 = 0``, ``u_1 = 1``, ``u_(n+1) = 2 u_n - u_(n - round(sqrt(2 n)))``; the weights are ``u_m - u_i`` for i < m. All
``2**m`` sums are distinct (Conway and Guy 1968; proved by Bohman, *Proceedings of the AMS*, 1996), and the widest
weight is u_m, about ``0.235 * 2**m`` instead of ``0.5 * 2**m``: where the clip limits the widest gap, that is one more
label in a query, and a noise of ``L / (2 N u_m)`` survived instead of ``L / (N 2**m)``.

Two prices. All weights are wide, so the sums range further. And no decoder but a table is known: so only the *widest*
rows of a query take these weights, times a stride, above powers of two in the narrow rows; thirteen of them save as
good as all that can be saved, with a table of 8 192 sums.

Example:
    >>> conway_guy_sequence(8)
    (0, 1, 2, 4, 7, 13, 24, 44, 84)
    >>> conway_guy_weights(4)
    (3, 5, 6, 7)
    >>> ConwayGuy(table_rows=3).weights(5)
    (1, 2, 8, 12, 16)
    >>> ConwayGuy(table_rows=4).weights(5)
    (1, 6, 10, 12, 14)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.constructions.weights import Widen, least, superincreasing
from labelinf_scores.decoders.digits import digits
from labelinf_scores.decoders.meet_in_the_middle import SumTable

__all__ = ["ConwayGuy", "conway_guy_sequence", "conway_guy_weights"]

_LARGEST_TABLE = 20


@functools.cache
def conway_guy_sequence(n: int) -> tuple[int, ...]:
    """Return ``u_0, ..., u_n``."""
    terms = [0, 1]
    for k in range(1, n):
        terms.append(2 * terms[k] - terms[k - (math.isqrt(8 * k) + 1) // 2])
    return tuple(terms[: n + 1])


def conway_guy_weights(n_rows: int) -> tuple[int, ...]:
    """Return ``n_rows`` weights with distinct sums, ascending; the widest is ``u_m``."""
    terms = conway_guy_sequence(n_rows)
    return tuple(sorted(terms[n_rows] - term for term in terms[:n_rows]))


@attrs.frozen(kw_only=True)
class ConwayGuy:
    """Powers of two in the narrow rows, Conway and Guy's weights times a stride in the widest.

    Attributes:
        table_rows: Rows of the second kind, decoded by a table of ``2**table_rows`` sums; 2 to 20.
    """

    table_rows: int = attrs.field(
        default=13, validator=attrs.validators.and_(attrs.validators.ge(2), attrs.validators.le(_LARGEST_TABLE))
    )

    def weights(self, n_rows: int, widen: Widen = least) -> tuple[int, ...]:
        """Return the weights of ``n_rows`` rows; only the narrow ones are widened."""
        low = superincreasing(self.n_widened(n_rows), widen=widen)
        stride = sum(low) + 1
        return (*low, *(stride * weight for weight in conway_guy_weights(min(n_rows, self.table_rows))))

    def n_widened(self, n_rows: int) -> int:
        """Return how many rows are narrow."""
        return max(0, n_rows - self.table_rows)

    def decode(self, weights: tuple[int, ...], totals: Sequence[int]) -> NDArray[np.intp]:
        """Return the labels of every total, shape ``(len(totals), m)``: a table look-up, then digits."""
        narrow = self.n_widened(len(weights))
        low = weights[:narrow]
        stride = sum(low) + 1
        wide = _table(len(weights) - narrow).decode(np.array([total // stride for total in totals]))
        return np.hstack([digits(low, [total % stride for total in totals]), wide])


@functools.cache
def _table(n_rows: int) -> SumTable:
    return SumTable.of(conway_guy_weights(n_rows))
