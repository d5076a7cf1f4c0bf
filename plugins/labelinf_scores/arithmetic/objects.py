"""Arrays of Python and gmpy2 numbers, and what the formats that gmpy2 computes in have in common."""

from __future__ import annotations

import abc
from contextlib import AbstractContextManager
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

__all__ = ["GmpyFormat", "as_objects"]


def as_objects(values: Any) -> NDArray[Any]:
    """Return an object array without NumPy's scalars, which gmpy2 does not know."""
    array = np.asarray(values)
    return array.astype(object) if array.dtype != object else np.asarray(_plain(array))


_plain = np.frompyfunc(lambda value: value.item() if isinstance(value, np.generic) else value, 1, 1)
_log = np.frompyfunc(gmpy2.log, 1, 1)
_exp = np.frompyfunc(gmpy2.exp, 1, 1)


class GmpyFormat(abc.ABC):
    """Numbers in object arrays, rounded as a gmpy2 context says."""

    @abc.abstractmethod
    def context(self) -> AbstractContextManager[object]:
        """Return the gmpy2 context."""

    @abc.abstractmethod
    def total(self, values: NDArray[Any]) -> Any:
        """Return the sum."""

    def log(self, values: Any) -> Any:
        """Natural logarithm, rounded to nearest."""
        with self.context():
            return _log(values)

    def exp(self, values: Any) -> Any:
        """Exponential, rounded to nearest."""
        with self.context():
            return _exp(values)

    def mean(self, values: NDArray[Any]) -> Any:
        """The sum, divided by the length."""
        with self.context():
            return self.total(values) / len(values)
