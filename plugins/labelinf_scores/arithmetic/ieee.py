"""IEEE single and double precision, computed by NumPy as scikit-learn computes them.

Logarithms are scipy's ``xlogy(1, x)`` and means are NumPy's pairwise ones, so that a loss written once agrees with
``sklearn.metrics.log_loss`` to the last bit. ``numpy.log`` would not do: its vectorised single-precision kernel
differs from the C library's in the last place for one argument in five.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

__all__ = ["Ieee"]


@attrs.frozen(kw_only=True)
class Ieee:
    """``float64`` or ``float32``.

    Attributes:
        name: Which of the two.
    """

    name: str = attrs.field(validator=attrs.validators.in_(("float64", "float32")))

    @property
    def summation(self) -> str:
        """NumPy's pairwise summation."""
        return "numpy"

    def at_precision(self, bits: int | None) -> Ieee:
        """Return itself: the format fixes its precision."""
        return self

    def context(self) -> AbstractContextManager[object]:
        """Return a context in which a logarithm of zero and an overflow give infinity without a warning."""
        return np.errstate(all="ignore")

    def convert(self, values: Any) -> NDArray[Any]:
        """Round floats, integers or gmpy2 numbers to nearest."""
        array = np.asarray(values)
        if array.dtype == object and self.name == "float32":
            return _single(array)
        return array.astype(self.name, copy=False)

    def log(self, values: Any) -> Any:
        """Natural logarithm, as scipy's ``xlogy`` rounds it."""
        one: Any = np.ones((), dtype=self.name)
        return xlogy(one, values)

    def exp(self, values: Any) -> Any:
        """Exponential, as NumPy rounds it."""
        return np.exp(values)

    def total(self, values: NDArray[Any]) -> Any:
        """Pairwise sum."""
        return np.sum(values)

    def mean(self, values: NDArray[Any]) -> Any:
        """Pairwise mean."""
        return np.mean(values)

    def total_log(self, values: NDArray[Any]) -> Any:
        """Pairwise sum of the logarithms."""
        return np.sum(self.log(values))

    def release(self, value: Any) -> float:
        """Return the double that equals ``value``."""
        return float(value)


def _single(values: NDArray[Any]) -> NDArray[np.float32]:
    """Round gmpy2 numbers to single precision in one step; by way of doubles some would be rounded twice."""
    import gmpy2

    with gmpy2.ieee(32):
        nearest = [float(gmpy2.mpfr(value)) for value in values.ravel()]
    return np.array(nearest, dtype=np.float32).reshape(values.shape)
