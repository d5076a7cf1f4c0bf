"""The interface of a number format."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from numpy.typing import NDArray

__all__ = ["Arithmetic"]


class Arithmetic(Protocol):
    """A number format. Arrays of it support ``+ - * /``; everything else is a method."""

    @property
    def name(self) -> str:
        """As in a suite: ``"float64"``, ``"fpa:33"``."""

    @property
    def summation(self) -> str:
        """How :meth:`mean` adds: ``"numpy"`` (pairwise), ``"exact"`` or ``"sequential"``."""

    def at_precision(self, bits: int | None) -> Arithmetic:
        """Return this format with ``bits`` of precision, where precision can be chosen; itself otherwise."""

    def context(self) -> AbstractContextManager[object]:
        """Return the context in which ``+ - * /`` round as this format does; enter it around any computation."""

    def convert(self, values: Any) -> NDArray[Any]:
        """Round an array of floats, integers or gmpy2 numbers to this format."""

    def log(self, values: Any) -> Any:
        """Natural logarithm, elementwise."""

    def exp(self, values: Any) -> Any:
        """Exponential, elementwise."""

    def total(self, values: NDArray[Any]) -> Any:
        """Sum of a one-dimensional array, in this format's order."""

    def mean(self, values: NDArray[Any]) -> Any:
        """Mean of a one-dimensional array: :meth:`total`, divided by its length."""

    def total_log(self, values: NDArray[Any]) -> Any:
        """Sum of the logarithms; a format in which one logarithm of the product is as good may take that."""

    def release(self, value: Any) -> Any:
        """Return a score as it is published: a float where doubles hold this format, else a ``gmpy2.mpfr``."""
