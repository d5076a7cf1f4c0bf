"""A released score, read backwards: coefficients ``c`` and an interval that is proved to hold ``sum_i c_i y_i``.

A metric whose score is a known monotone function of such a sum, once the class totals are known, tells by every answer
that the sum lies in an interval (statement M3). Everything here is exact: coefficients are whole numbers in units of
``2**-scale``, ends of intervals are fractions, so that a certificate never hangs on a tolerance. The interval covers
the rounding of the released score by whatever convention (M41b as corrected: half up, half to even and ``%.df`` differ
on exact halves), the scorer's own arithmetic, and the rounding of the coefficients themselves.

Labels are 0 and 1 here; a metric of more classes has readings of another shape.
"""

from __future__ import annotations

import abc
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["UNIT", "Reading", "Released", "ScoredMetric", "Totals", "exact"]

UNIT = Fraction(1, 2**53)  #: u, the unit roundoff of doubles

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class Totals:
    """What is public of the labels.

    Attributes:
        n_records: N.
        n_positive: P, records with label 1, between 1 and N - 1.
    """

    n_records: int
    n_positive: int = attrs.field()

    @n_positive.validator
    def _both_classes(self, attribute: attrs.Attribute[int], value: int) -> None:
        if not 0 < value < self.n_records:
            raise ValueError(f"n_positive={value} must be between 1 and {self.n_records - 1}.")

    @property
    def n_negative(self) -> int:
        """Records with label 0."""
        return self.n_records - self.n_positive


@attrs.frozen(kw_only=True)
class Released:
    """How scores leave the host.

    Attributes:
        decimals: Decimals that are printed; None when the whole double is.
        truncated: Whether digits are cut off instead of rounded; the convention is an input, never guessed.
    """

    decimals: int | None = None
    truncated: bool = False

    def interval(self, score: Fraction, error: Fraction) -> tuple[Fraction, Fraction]:
        """Return closed ends between which the exact score lies.

        Args:
            score: What was printed.
            error: Largest error of the scorer's own arithmetic.
        """
        slack = error + 4 * UNIT * max(Fraction(1), abs(score))
        if self.decimals is None:
            return score - slack, score + slack
        step = Fraction(1, 10**self.decimals)
        if self.truncated:  # towards zero
            return score - slack - (step if score <= 0 else 0), score + slack + (step if score >= 0 else 0)
        return score - step / 2 - slack, score + step / 2 + slack


@attrs.frozen(kw_only=True, eq=False)
class Reading:
    """What one answer tells: ``low <= sum_i coefficients_i y_i <= high`` for the true labels.

    Attributes:
        coefficients: Whole numbers, shape ``(n_records,)``, dtype object where they do not fit into 64 bits.
        low: Lower end, closed, in units of the coefficients.
        high: Upper end, closed.
    """

    coefficients: NDArray[Any]
    low: Fraction
    high: Fraction

    def holds(self, labels: NDArray[np.intp]) -> bool:
        """Whether labels are consistent with the answer, in exact arithmetic."""
        total = int(self.coefficients[labels == 1].sum())
        return self.low <= total <= self.high


class ScoredMetric(abc.ABC):
    """A metric whose answers can be read as intervals for a sum over the records."""

    @abc.abstractmethod
    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return what ``score`` tells of the labels.

        Args:
            predictions: What was submitted, shape ``(n_records,)``.
            score: What was released, exactly as it was printed.
            totals: The class totals.
            released: How scores are printed.

        Raises:
            ValueError: The predictions cannot be scored by this metric; the message is one clause.
        """


def exact(values: Floats, scale: int) -> NDArray[Any]:
    """Return ``values * 2**scale`` rounded to whole numbers, as Python's own; shape as given."""
    return np.array([round(Fraction(float(value)) * 2**scale) for value in values], dtype=object)
