"""A metric: which rows a query can have, what its score tells of the labels, and how exactly it tells it.

A metric whose score is a known monotone function (its *link*) of a sum over the records (its *statistic*), once the
class totals are known, tells by every answer that the sum lies in an interval (statement M3). Everything here is exact:
coefficients are whole numbers, ends of intervals are fractions, so that a certificate never hangs on a tolerance. The
interval covers the rounding of the released score by whatever convention (M41b as corrected: half up, half to even and
``%.df`` differ on exact halves), the scorer's own arithmetic, and the rounding of the coefficients themselves.

The same object serves whoever reads a board's log and whoever attacks it. It says:

* ``rows``: which coefficients a query can give the records, so that an attack can tell whether it fits;
* ``ties``: how equal predictions are treated, which is part of the metric;
* ``score``: the library's own function, the oracle of every game;
* ``reading``: an answer read backwards, with the arithmetic error of that function in it.
"""

from __future__ import annotations

import abc
import enum
import math
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import Metric

__all__ = ["HARD", "UNIT", "Reading", "Released", "Rows", "ScoredMetric", "Totals", "exact", "no_classes"]

UNIT = Fraction(1, 2**53)  #: u, the unit roundoff of doubles

Floats = NDArray[np.float64]


class Rows(enum.Enum):
    """Which coefficients of the records a query can choose."""

    COUNTS = "0 and 1: who is predicted positive"
    """Predictions 0 and 1; the statistic counts the positives among those predicted 1."""

    RANKS = "doubled midranks"
    """Any order of the records with any ties; the statistic sums doubled midranks."""

    DISCOUNTS = "mean discounts of ranks"
    """Any order of the records with any ties; the statistic sums discounts that fall with the rank."""

    PRECISIONS = "precisions along a list"
    """Any order of the records with any ties; the score is no function of a sum over them."""

    FIRST = "who stands above the first positive"
    """Any order of the records with any ties; the score tells where the first positive is."""

    COLUMNS = "an order of the records for every class"
    """One column for every class, each in any order with any ties."""

    REALS = "any real numbers"
    """Any finite predictions, which are the coefficients themselves."""

    CLASSES = "a class for every record"
    """Predictions 0, 1, ..., K - 1; a record counts, by the weight of its class, where it is predicted right."""

    GRADES = "a grade for every record"
    """Predictions 0, 1, ..., K - 1 of an ordered scale; what counts is how far each is off."""

    LEVELS = "any level"
    """Any finite predictions; a record costs so much for every unit that it is off, whichever side it is on."""

    COSTS = "costs of a loss"
    """What a row costs; the score is the mean, and attacks on that loss read it."""


HARD = (Rows.COUNTS, Rows.CLASSES, Rows.GRADES)  #: predictions are classes


@attrs.frozen(kw_only=True)
class Totals:
    """What is public of the labels: how many there are of every class, and which number a class stands for.

    Attributes:
        counts: Records of class 0, 1, ..., K - 1; two of them at least are not empty.
        values: The number each class stands for, all different; by default 0, 1, ..., K - 1.
    """

    counts: tuple[int, ...] = attrs.field()
    values: tuple[Fraction | int, ...] = attrs.field()

    @values.default
    def _class_numbers(self) -> tuple[Fraction | int, ...]:
        return tuple(range(len(self.counts)))

    @values.validator
    def _one_each(self, attribute: attrs.Attribute[tuple[Fraction | int, ...]], value: tuple[Fraction, ...]) -> None:
        if len(set(value)) != len(self.counts):
            raise ValueError(f"values={value} must be {len(self.counts)} different numbers.")

    @counts.validator
    def _two_classes(self, attribute: attrs.Attribute[tuple[int, ...]], value: tuple[int, ...]) -> None:
        if len(value) < 2 or min(value) < 0 or max(value) == sum(value):
            raise ValueError(f"counts={value} must be of two classes at least that have records.")

    @classmethod
    def binary(cls, *, n_records: int, n_positive: int) -> Totals:
        """Return the totals of two classes.

        Raises:
            ValueError: A class is empty.
        """
        if not 0 < n_positive < n_records:
            raise ValueError(f"n_positive={n_positive} must be between 1 and {n_records - 1}.")
        return cls(counts=(n_records - n_positive, n_positive))

    @property
    def n_records(self) -> int:
        """N, the number of labels."""
        return sum(self.counts)

    @property
    def n_positive(self) -> int:
        """P, the records of class 1."""
        return self.counts[1]

    @property
    def n_negative(self) -> int:
        """n, the records of class 0."""
        return self.counts[0]

    def power(self, exponent: int) -> Fraction | int:
        """Return the sum of what the labels stand for, each to ``exponent``."""
        return sum(count * value**exponent for value, count in zip(self.values, self.counts, strict=True))


@attrs.frozen(kw_only=True)
class Released:
    """How scores leave the host.

    Attributes:
        decimals: Decimals that are printed, below zero where tens are rounded; None when the whole double is.
        truncated: Whether digits are cut off instead of rounded; the convention is an input, never guessed.
        noise: Largest difference between the computed and the released score, where it is no matter of decimals.
    """

    decimals: int | None = None
    truncated: bool = False
    noise: Fraction = Fraction(0)

    def interval(self, score: Fraction, error: Fraction) -> tuple[Fraction, Fraction]:
        """Return closed ends between which the exact score lies.

        Args:
            score: What was printed.
            error: Largest error of the scorer's own arithmetic.
        """
        slack = self.noise + error + 4 * UNIT * max(Fraction(1), abs(score))
        if self.decimals is None:
            return score - slack, score + slack
        step = Fraction(10) ** -self.decimals
        if self.truncated:  # towards zero
            return score - slack - (step if score <= 0 else 0), score + slack + (step if score >= 0 else 0)
        return score - step / 2 - slack, score + step / 2 + slack

    def shows(self, score: Fraction, computed: float) -> bool:
        """Whether a computed score is printed as ``score``, halves by whatever convention, and nothing else is spared.

        Args:
            score: What was printed.
            computed: The double that the scorer's own function returns.
        """
        if computed == float(score) or self.decimals is None or not math.isfinite(computed):
            return computed == float(score)
        apart, step = Fraction(computed) - score, Fraction(10) ** -self.decimals
        # numpy.round multiplies first, so that what lies next to a half goes either way.
        spare = self.noise + min(4 * UNIT * max(Fraction(1), abs(score)), step / 1000)
        if not self.truncated:
            return abs(apart) <= step / 2 + spare
        return abs(apart) <= step + spare and (not score or abs(Fraction(computed)) + spare >= abs(score))


@attrs.frozen(kw_only=True, eq=False)
class Reading:
    """What one answer tells: ``low <= sum_i coefficients_i y_i <= high`` for the true labels.

    Where a label is no number to multiply with, ``coefficients`` has a column for every class, and what is added up are
    the entries of the true classes.

    Attributes:
        coefficients: Whole numbers, shape ``(n_records,)`` or ``(n_records, n_classes)``, dtype object where they do
            not fit into 64 bits.
        low: Lower end, closed, in units of the coefficients.
        high: Upper end, closed.
        numbers: What the classes stand for in that sum; None: 0, 1, ..., K - 1.
    """

    coefficients: NDArray[Any]
    low: Fraction
    high: Fraction
    numbers: tuple[Fraction | int, ...] | None = None

    def holds(self, labels: NDArray[np.intp]) -> bool:
        """Whether labels are consistent with the answer, in exact arithmetic."""
        return self.low <= Fraction(self.added(np.arange(labels.size), labels)) <= self.high

    def added(self, places: NDArray[np.intp], labels: NDArray[np.intp]) -> Fraction | int:
        """Return what the records at ``places`` add to the sum if they have these labels."""
        chosen = self.coefficients[places]
        if chosen.ndim == 2:
            total = chosen[np.arange(labels.size), labels].sum()
        else:
            total = (chosen * (labels if self.numbers is None else np.array(self.numbers, dtype=object)[labels])).sum()
        return total if isinstance(total, Fraction) else int(total)

    @property
    def value(self) -> int | None:
        """The sum, where only one whole number fits; None otherwise."""
        low, high = -(-self.low.numerator // self.low.denominator), self.high.numerator // self.high.denominator
        return low if low == high else None


class ScoredMetric(Metric, abc.ABC):
    """A metric whose answers can be read as intervals for a sum over the records.

    Attributes:
        rows: Which coefficients a query can choose.
        ties: How equal predictions are treated.
        higher: Whether more is better.
        two_classes: Whether there must be two classes.
        columns: Whether predictions have a column for every class.
        sums: Whether one sum over the records says all that an answer does; otherwise :meth:`fits` says more.
        of_values: Whether labels count as what their classes stand for, and not as 0, 1, ..., K - 1.
        named: Whether it is a metric that somebody knows, and not a function that agrees with none.
        extent: How far apart two scores are at most, where one label may move them as far; infinity: nothing is proved.
    """

    rows: ClassVar[Rows]
    ties: ClassVar[str] = "none: records are scored one by one"
    higher: ClassVar[bool] = True
    two_classes: ClassVar[bool] = True
    of_values: ClassVar[bool] = False
    columns: ClassVar[bool] = False
    sums: ClassVar[bool] = True
    named: ClassVar[bool] = True
    extent: ClassVar[float] = math.inf

    @abc.abstractmethod
    def score(self, labels: NDArray[Any], predictions: Floats) -> float:
        """Return the library's own score of ``predictions``, shape ``(n_records,)``.

        Args:
            labels: Classes 0, 1, ..., K - 1, or what they stand for where ``of_values`` says so.
            predictions: What was submitted.
        """

    @abc.abstractmethod
    def reading(self, predictions: Floats, score: Fraction, totals: Totals, released: Released) -> Reading:
        """Return what ``score`` tells of the labels.

        Args:
            predictions: What was submitted, shape ``(n_records,)``.
            score: What was released, exactly as it was printed.
            totals: The class totals.
            released: How scores are printed.

        Raises:
            ValueError: The predictions cannot be scored by this metric, or no sum says what the score tells; the
                message is one clause.
        """

    @property
    def scores_only(self) -> int | None:
        """The one number of records that it can score; None, the default: any."""
        return None

    def readings(
        self,
        predictions: Floats,
        score: Fraction,
        totals: Totals,
        released: Released,
        near: NDArray[np.intp] | None = None,
    ) -> tuple[Reading, ...]:
        """Return sums that an answer bounds: by default the one of :meth:`reading`; none where it bounds no sum.

        Args:
            predictions: What was submitted.
            score: What was released.
            totals: The class totals.
            released: How scores are printed.
            near: Labels about which bounds are to be close, where they cannot be so everywhere.

        Raises:
            ValueError: As :meth:`reading`.
        """
        return (self.reading(predictions, score, totals, released),)

    def of_classes(self, n_classes: int) -> ScoredMetric:
        """Return the metric that goes by this name where there are ``n_classes``; by default this one."""
        return self

    def fits(
        self, labels: NDArray[np.intp], predictions: Floats, score: Fraction, totals: Totals, released: Released
    ) -> bool:
        """Whether labels may have this score, in exact arithmetic.

        Raises:
            ValueError: As :meth:`reading`.
        """
        return self.reading(predictions, score, totals, released).holds(labels)

    def sensitivity(self, n_records: int) -> float:
        """Return the most by which one label can move the score, whatever the query and whatever all labels are.

        Empty classes included, as neighbours of label-DP may have them; by default :attr:`extent`.
        """
        return self.extent

    def moved(self, n_records: int, width: float) -> float:
        """Return the same where all predictions and values lie in a range of this width; by default the same."""
        return self.sensitivity(n_records)

    def within(self, clip: float) -> ScoredMetric:
        """Return the metric where probabilities are clipped to ``[clip, 1 - clip]`` first; by default the same."""
        return self

    def values(self, totals: Totals) -> float:
        """Return how many values one answer to a fixed query can take; infinity, the default, where nobody knows."""
        return float("inf")

    def floor(self, totals: Totals) -> float:
        """Return the noise below which every label comes out, one record a query; 0, the default, where nobody knows.

        Infinity: no noise stops it.
        """
        return 0.0

    def enough(self, totals: Totals) -> float:
        """Return the noise from which on two labellings can look the same for ever; infinity where nobody knows."""
        return float("inf")

    def fault(self, predictions: NDArray[Any], n_records: int) -> str:
        """Return what is wrong with ``predictions``, as a sentence; empty when they can be scored."""
        values = np.asarray(predictions)
        if values.shape != (n_records,):
            return f"predictions have shape {values.shape}, expected ({n_records},)."
        if values.dtype.kind not in "biuf":
            return f"predictions have type {values.dtype}, expected numbers."
        return "" if np.isfinite(values).all() else "predictions must be finite."


def exact(values: Floats, scale: int) -> NDArray[Any]:
    """Return ``values * 2**scale`` rounded to whole numbers, as Python's own; shape as given.

    Doubles are scaled by a power of two without any error; what lies beyond them goes by fractions.
    """
    with np.errstate(over="ignore"):
        scaled = np.rint(np.ldexp(values, scale)).tolist()
    if not np.isfinite(scaled).all():
        scaled = [round(Fraction(float(value)) * 2**scale) for value in values]
    return np.array(list(map(int, scaled)), dtype=object)


def no_classes(predictions: NDArray[Any]) -> str:
    """Say that predictions are not classes; empty when they are whole numbers from 0."""
    whole = (predictions == np.floor(predictions)).all() and predictions.min() >= 0
    return "" if whole else "predictions must be classes 0, 1, ..."
