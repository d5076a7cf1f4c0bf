"""Real numbers to a precision that every query chooses, on gmpy2.

Rationals (``gmpy2.mpq``, and every float, which *is* a rational) stay exact through ``+ - * /``; logarithms and
exponentials are ``gmpy2.mpfr`` of the chosen precision. A sum of logarithms is one logarithm of one product, built as
a balanced tree: ten thousand primes cost one logarithm of 150 000 bits instead of ten thousand.

Formal guarantee: :meth:`Exact.total_log` is within ``2**(2 - bits) * max(1, abs(result))`` of the true sum of the
logarithms of its arguments, whatever their number. Of rationals even ``2**(2 - bits) * abs(result)``. Held by
``tests/arithmetic/test_exact.py``.

Example:
    >>> from gmpy2 import mpq
    >>> numbers = Exact().at_precision(60)
    >>> with numbers.context():
    ...     print(numbers.total_log(numbers.convert([mpq(1, 2), mpq(1, 3)])))
    -1.7917594692280550007
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic.objects import GmpyFormat, as_objects

__all__ = ["DEFAULT_BITS", "Exact", "product"]

T = TypeVar("T")

DEFAULT_BITS = 256  #: precision of an answer whose query did not ask for any
LEAST_BITS = 64  #: that a curator answers in, whoever asks for fewer


@attrs.frozen(kw_only=True)
class Exact(GmpyFormat):
    """Rationals, and reals of ``bits`` significant bits between e**-7.4e8 and e**7.4e8 (gmpy2's exponent range).

    Attributes:
        bits: Precision, at least 2.
    """

    bits: int = attrs.field(default=DEFAULT_BITS, validator=attrs.validators.ge(2))

    @property
    def name(self) -> str:
        """As in a suite."""
        return "exact"

    @property
    def summation(self) -> str:
        """Sums of rationals are exact, whatever the order."""
        return "exact"

    def at_precision(self, bits: int | None) -> Exact:
        """Return the format with ``bits`` of precision; itself when None."""
        return self if bits is None else Exact(bits=bits)

    def context(self) -> AbstractContextManager[object]:
        """Return the gmpy2 context of this precision."""
        return _context(self.bits)

    def convert(self, values: Any) -> NDArray[Any]:
        """Keep rationals, make rationals of floats and integers, round reals to the precision."""
        with self.context():
            return np.asarray(_exact(as_objects(values)))

    def total(self, values: NDArray[Any]) -> Any:
        """Sum: exact of rationals, rounded at every step of reals."""
        with self.context():
            return sum(values.tolist(), start=gmpy2.mpq(0))

    def total_log(self, values: NDArray[Any]) -> Any:
        """Sum of the logarithms as one logarithm of the product."""
        numbers = values.tolist()
        rational = all(isinstance(value, _MPQ) for value in numbers)
        result = _log_of_rationals(numbers, self.bits) if rational else _log_of_reals(numbers, self.bits)
        with self.context():
            return +result

    def release(self, value: Any) -> Any:
        """Return the answer as a real of this precision."""
        with self.context():
            return gmpy2.mpfr(value)


def _log_of_rationals(numbers: list[Any], bits: int) -> Any:
    top = product([value.numerator for value in numbers])
    bottom = product([value.denominator for value in numbers])
    # Of a quotient close to one, the logarithm keeps only the bits in which it differs from one.
    lost = max(0, bottom.bit_length() - abs(top - bottom).bit_length())
    with _context(bits + lost + 2):
        return gmpy2.log(gmpy2.mpfr(top) / bottom)


def _log_of_reals(numbers: list[Any], bits: int) -> Any:
    with _context(bits + len(numbers).bit_length() + 2):
        # Exponents are added apart from the mantissas, so that the product cannot underflow.
        exponents, mantissas = zip(*(gmpy2.frexp(gmpy2.mpfr(value)) for value in numbers), strict=True)
        return gmpy2.log(product(mantissas)) + sum(exponents) * gmpy2.const_log2()


def product(factors: Sequence[T]) -> T:
    """Multiply by a balanced tree, so that the large multiplications have factors of equal length.

    Args:
        factors: At least one number.
    """
    level = list(factors)
    multiply: Callable[[Any, Any], Any] = gmpy2.mul
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [*map(multiply, level[0::2], level[1::2]), *odd]
    return level[0]


_MPQ = type(gmpy2.mpq())
_MPFR = type(gmpy2.mpfr())


def _context(bits: int) -> AbstractContextManager[object]:
    context: AbstractContextManager[object] = gmpy2.context(precision=bits)
    return context


def _one_exact(value: Any) -> Any:
    real = isinstance(value, _MPFR) or (isinstance(value, float) and not math.isfinite(value))
    return gmpy2.mpfr(value) if real else gmpy2.mpq(value)


_exact = np.frompyfunc(_one_exact, 1, 1)
