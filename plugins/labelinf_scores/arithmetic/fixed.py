"""FPA(phi), the bounded-precision machine of both score papers.

Aggarwal et al. (ICML 2021, section 2; AISTATS 2022, appendix B.1) call it floating point, but the format they describe
is *fixed* point (erratum I-2): one sign bit, ``f = (phi - 1) / 2`` integer bits and ``f`` fraction bits, that is all
multiples of ``2**-f`` strictly between ``-2**f`` and ``2**f``.

What the papers' analysis needs to be representable is what the adversary sends and what it gets back. So predictions
and answers are rounded to the grid (to nearest, ties to even), and what lies between is computed in registers wide
enough not to matter. A number beyond the range is an error.

Example:
    >>> numbers = Fixed.of_bits(9)
    >>> [float(value) for value in numbers.convert([0.3, 15.9])]
    [0.3125, 15.875]
"""

from __future__ import annotations

from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_scores.arithmetic.exact import Exact
from labelinf_scores.arithmetic.objects import as_objects

__all__ = ["Fixed"]

_GUARD_BITS = 64  # registers are wider by this than twice the format
_DOUBLE_BITS = 53


@attrs.frozen(kw_only=True)
class Fixed(Exact):
    """Fixed point with ``fraction_bits`` bits on either side of the point.

    Attributes:
        fraction_bits: f, at least 1; the papers' phi is ``2 * f + 1``.
    """

    fraction_bits: int = attrs.field(validator=attrs.validators.ge(1))

    @classmethod
    def of_bits(cls, phi: int) -> Fixed:
        """Return FPA(``phi``).

        Raises:
            InputError: ``phi`` is even or below 3.
        """
        if phi < 3 or phi % 2 == 0:
            raise InputError(f"fpa:{phi} must have an odd number of bits, at least 3: a sign and two equal halves.")
        return cls(fraction_bits=(phi - 1) // 2, bits=2 * phi + _GUARD_BITS)

    @property
    def name(self) -> str:
        """As in a suite."""
        return f"fpa:{2 * self.fraction_bits + 1}"

    @property
    def step(self) -> Any:
        """Distance between neighbouring numbers, ``2**-f``, a rational: twice the error E of rounding to nearest."""
        return gmpy2.mpq(1, 2**self.fraction_bits)

    def at_precision(self, bits: int | None) -> Fixed:
        """Return itself: the format fixes its precision."""
        return self

    def convert(self, values: Any) -> NDArray[Any]:
        """Round to the grid and return rationals.

        Raises:
            InputError: A value is beyond the range.
        """
        return np.asarray(np.frompyfunc(self._nearest, 1, 1)(as_objects(values)))

    def release(self, value: Any) -> Any:
        """Round an answer to the grid: a float where doubles hold the format, else a real of phi bits.

        Raises:
            InputError: The answer is beyond the range.
        """
        nearest = self._nearest(value)
        digits = 2 * self.fraction_bits
        return float(nearest) if digits <= _DOUBLE_BITS else gmpy2.mpfr(nearest, digits)

    def _nearest(self, value: Any) -> Any:
        largest = 2**self.fraction_bits - self.step
        if gmpy2.is_finite(value) and abs(value) < largest + self.step / 2:
            return self.step * round(gmpy2.mpq(value) / self.step)
        raise InputError(
            f"{self.name} holds numbers between -2**{self.fraction_bits} and 2**{self.fraction_bits}, "
            f"got {gmpy2.mpfr(value):.6g}."
        )
