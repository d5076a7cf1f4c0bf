"""The 16-bit floating-point formats, emulated by gmpy2 contexts: every operation is rounded to nearest, ties to even.

A context with the format's precision and exponent range, and gradual underflow, rounds each ``+ - * /``, logarithm and
exponential exactly once. Sums run from the first record to the last, as a loop on such a machine does.

Example:
    >>> with BFLOAT16.context():
    ...     print(float(BFLOAT16.total(BFLOAT16.convert([1.0, 0.001]))))
    1.0
"""

from __future__ import annotations

import functools
import operator
from contextlib import AbstractContextManager
from typing import Any

import attrs
import gmpy2
import numpy as np
from numpy.typing import NDArray

from labelinf_scores.arithmetic.objects import GmpyFormat, as_objects

__all__ = ["BFLOAT16", "FLOAT16", "SmallFloat"]

_NUMBERS = 2**16  # of a 16-bit format
_round = np.frompyfunc(gmpy2.mpfr, 1, 1)


@attrs.frozen(kw_only=True)
class SmallFloat(GmpyFormat):
    """A binary floating-point format with subnormal numbers.

    Attributes:
        name: As in a suite.
        digits: Significant bits, the hidden one included.
        emax: Every finite number is below ``2**emax``.
    """

    name: str
    digits: int
    emax: int

    @property
    def summation(self) -> str:
        """From first to last."""
        return "sequential"

    def at_precision(self, bits: int | None) -> SmallFloat:
        """Return itself: the format fixes its precision."""
        return self

    def context(self) -> AbstractContextManager[object]:
        """Return the gmpy2 context that rounds to this format.

        The smallest subnormal number is ``2**(3 - emax - digits)``; gmpy2 calls its exponent, plus one, ``emin``.
        """
        context: AbstractContextManager[object] = gmpy2.context(
            precision=self.digits, emax=self.emax, emin=4 - self.emax - self.digits, subnormalize=True
        )
        return context

    def convert(self, values: Any) -> NDArray[Any]:
        """Round floats, integers or gmpy2 numbers to nearest."""
        given = np.asarray(values)
        with self.context():
            if given.dtype != np.float64:
                return np.asarray(_round(as_objects(given)))
            # Queries repeat a few rows many times. Bits, not values: the two zeros differ, and no NaN equals itself.
            bits, places = np.unique(given.view(np.int64), return_inverse=True)
            return np.asarray(_round(as_objects(bits.view(np.float64)))[places.ravel()].reshape(given.shape))

    def log(self, values: Any) -> Any:
        """Natural logarithm, rounded to nearest; there are few numbers, so each is computed once."""
        with self.context():
            return self._log(values)

    @functools.cached_property
    def _log(self) -> Any:
        return np.frompyfunc(functools.lru_cache(maxsize=_NUMBERS)(gmpy2.log), 1, 1)

    def total(self, values: NDArray[Any]) -> Any:
        """Sum from first to last, rounded at every step."""
        with self.context():
            return functools.reduce(operator.add, values.tolist(), gmpy2.mpfr(0))

    def total_log(self, values: NDArray[Any]) -> Any:
        """Sum of the rounded logarithms."""
        return self.total(self.log(values))

    def release(self, value: Any) -> float:
        """Return the double that equals ``value``."""
        return float(value)


FLOAT16 = SmallFloat(name="float16", digits=11, emax=16)  #: IEEE 754 binary16
BFLOAT16 = SmallFloat(name="bfloat16", digits=8, emax=128)  #: the upper half of an IEEE single
