"""Reads and scores rows exactly, and keeps nothing. Standard library only; an exported file is made of this text.

A score is a fraction, of integers: counts are counts, and a cost is rounded to a multiple of ``2**-40`` before it is
added, so that no order of summation and no float decides an answer. Boards read and score by the same functions, so an
exported file answers as a board without noise does, to the last digit up to seven classes; but there is no ledger
behind it: who sends more submissions is told more. Whatever is wrong with one is a constant sentence, without a value.
"""

from __future__ import annotations

import csv
import functools
import io
import math
import numbers
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = [
    "GRID",
    "OF_CHANCES",
    "OF_CLASSES",
    "OF_VALUES",
    "Form",
    "LabelsError",
    "Settings",
    "SubmissionError",
    "answer",
    "canonical",
    "cells_of",
    "checked",
    "exact_score",
    "labels_of",
    "scored",
]

GRID = 1 << 40  #: costs are whole multiples of 1 / GRID
OF_CLASSES = ("accuracy", "balanced-accuracy", "f1")
OF_CHANCES = ("brier", "log-loss", "roc-auc")
OF_VALUES = {"mae": (1, False), "mse": (2, False), "rmse": (2, True)}  #: power, and whether the root is told
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?", re.ASCII)
COLUMNS = (
    "The columns must be the board's id and 'prediction' or the label's own name, or, for probabilities, one for "
    "every class."
)
UNKNOWN = "An id is not one of those that are expected."
DUPLICATE = "An id occurs more than once."
MISSING = "An expected id is missing."
VALUE = (
    "A prediction must be a class of this board, written as the board writes it ('1', not '1.0'); "
    "where probabilities or values are scored, a finite decimal number."
)
RANGE = "Probabilities must lie between 0 and 1, and not all of a row may be 0."


class SubmissionError(Exception):
    """A submission cannot be scored; its text is one of a few constant sentences, made to be shown."""


class LabelsError(Exception):
    """The host's labels cannot be used; its text is constant too, for some platforms show it to everybody."""

    def __init__(self) -> None:
        super().__init__("The labels of this board cannot be used. Please tell the host.")


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a row looks like.

    Attributes:
        id: Column of ids.
        classes: Names of the classes, in order.
        classes_predicted: Whether a row is a class; else probabilities, or a value.
        between: Ends of the range that predicted values are cut to; None where rows are no values.
        label: What one column of predictions may be called too.
    """

    id: str
    classes: tuple[str, ...]
    classes_predicted: bool
    between: tuple[float, float] | None = None
    label: str = "prediction"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a host decided.

    Attributes:
        metric: One that ships.
        classes: Names of the classes, in order; the last one is the positive one. Numbers where a metric is of values.
        id: Column of ids.
        label: Column of labels.
        decimals: Of an answer.
        parameters: Of the metric.
    """

    metric: str
    classes: tuple[str, ...]
    id: str
    label: str
    decimals: int
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def form(self) -> Form:
        """What a row looks like: a class, probabilities of the classes, or a number of the range of the values."""
        between = (min(self.values), max(self.values)) if self.values else None
        chosen = self.metric in OF_CLASSES
        return Form(id=self.id, label=self.label, classes=self.classes, classes_predicted=chosen, between=between)

    @property
    def values(self) -> tuple[float, ...]:
        """What the classes stand for where a row is a number of their range; empty where it is not."""
        return tuple(map(float, self.classes)) if self.metric in OF_VALUES else ()

    @property
    def high(self) -> Fraction:
        """Of all scores."""
        if self.values:
            power, root = OF_VALUES[self.metric]
            span = max(map(Fraction, self.classes)) - min(map(Fraction, self.classes))
            return span if root else span**power
        return Fraction(round(-math.log(self.clip) * GRID), GRID) if self.metric == "log-loss" else Fraction(1)

    @property
    def clip(self) -> float:
        """Least probability that the logarithmic loss sees."""
        return self.parameters.get("clip", 0.01)


def labels_of(settings: Settings, ids: Iterable[Any], labels: Iterable[Any]) -> dict[str, int]:
    """Return the class of every id.

    Raises:
        LabelsError: One is no class (such as a missing value), or an id occurs twice.
    """
    codes: dict[Any, int] = {name: code for code, name in enumerate(settings.values or settings.classes)}
    found: dict[str, int] = {}
    for name, label in zip(ids, labels, strict=True):
        own: Any = str(label)
        if settings.values:  # however many zeros a reader of tables leaves
            own = float(own) if _NUMBER.fullmatch(own) else None
        if str(name) in found or own not in codes:
            raise LabelsError
        found[str(name)] = codes[own]
    if not found:
        raise LabelsError
    return found


def canonical(
    settings: Settings, expected: Iterable[str], header: Sequence[Any], rows: Iterable[Sequence[Any]]
) -> dict[str, Any]:
    """Return the class, the value or the probabilities of every expected id. No label is looked at.

    Raises:
        SubmissionError: The file cannot be scored.
    """
    form = settings.form
    found = checked(form, set(expected), [str(name) for name in header], rows)
    if form.classes_predicted:
        return found
    return {name: _normalised(row) if form.between is None else row[0] for name, row in found.items()}


def checked(
    form: Form, expected: Collection[str], header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> dict[str, Any]:
    """Return what is predicted for every id: a class, or numbers as they are, those of values cut to their range.

    Args:
        form: Of a row.
        expected: Every id; each must come exactly once.
        header: Names of the columns.
        rows: The cells.

    Raises:
        SubmissionError: The file cannot be scored.
    """
    ordered, width, found = operator.itemgetter(*_order(form, header)), len(header), dict[str, Any]()
    for cells in rows:
        if len(cells) != width:
            raise SubmissionError(COLUMNS)
        name, *values = ordered(cells)
        name = str(name)
        if name not in expected:
            raise SubmissionError(UNKNOWN)
        if name in found:
            raise SubmissionError(DUPLICATE)
        found[name] = _class(form, values[0]) if form.classes_predicted else _numbers(form, values)
    if len(found) < len(expected):
        raise SubmissionError(MISSING)
    return found


def answer(settings: Settings, labels: Mapping[str, int], rows: Mapping[str, Any]) -> str:
    """Return the score of some labels as it is told; the worst one where there is none."""
    ids = sorted(labels)
    score = exact_score(settings, [labels[name] for name in ids], [rows[name] for name in ids])
    if score is None:
        score = Fraction(0)
    ten = 10**settings.decimals
    most = math.ceil(settings.high * ten)
    whole, part = divmod(max(0, min(most, math.floor(score * ten + Fraction(1, 2)))), ten)
    said = f"{whole:0{len(str(most // ten))}d}"
    return f"{said}.{part:0{settings.decimals}d}" if settings.decimals else said


def cells_of(text: str) -> Any:
    """Return a reader of CSV rows; a header without a comma is cut at semicolons or tabs, if it has any."""
    separator = next((mark for mark in ",;\t" if mark in text.lstrip().partition("\n")[0]), ",")
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def exact_score(settings: Settings, labels: Sequence[int], rows: Sequence[Any]) -> Fraction | None:
    """Return the score of labels, as codes of the classes, and canonical rows; None where there is none."""
    if settings.values:
        return _deviation(settings, labels, rows)
    if settings.metric == "accuracy":
        return Fraction(sum(map(operator.eq, labels, rows)), len(labels))
    if settings.metric == "balanced-accuracy":
        return _balanced(labels, rows, len(settings.classes))
    if settings.metric == "f1":
        return _f1(labels, rows, len(settings.classes) - 1)
    if settings.metric == "roc-auc":
        return _roc_auc(labels, [row[1] for row in rows]) if len(settings.classes) == 2 else None
    if settings.metric == "log-loss":
        low, high = settings.clip, 1 - settings.clip
        return _mean([-math.log(min(high, max(low, row[label]))) for label, row in zip(labels, rows, strict=True)])
    costs = [(sum(p * p for p in row) + 1) / 2 - row[label] for label, row in zip(labels, rows, strict=True)]
    return _mean([min(1.0, max(0.0, cost)) for cost in costs])


def scored(settings: Settings, solution: str, submission: str, usages: tuple[str, ...]) -> list[float]:
    """Return the scores of a submission on the rows of each usage; all of its rows must be fit to score.

    Args:
        settings: What the host decided.
        solution: Path of a CSV file of ids, labels and ``Usage``.
        submission: Path of a CSV file of ids and predictions.
        usages: Such as ``Public``.

    Raises:
        SubmissionError: The submission cannot be scored, in a constant sentence.
        LabelsError: The solution cannot be used.
    """
    try:
        header, table = _table(solution)
        ids, labels, usage = (
            [row[header.index(name)] for row in table] for name in (settings.id, settings.label, "Usage")
        )
    except (OSError, ValueError, csv.Error, IndexError):
        raise LabelsError from None
    truth = labels_of(settings, ids, labels)
    try:
        columns, lines = _table(submission)
    except (OSError, ValueError, csv.Error, IndexError):
        raise SubmissionError("The file is not CSV that can be read.") from None
    rows = canonical(settings, truth, columns, lines)
    parts = [{name: truth[name] for name, of in zip(ids, usage, strict=True) if of == wanted} for wanted in usages]
    if not all(parts):
        raise LabelsError
    return [float(answer(settings, part, rows)) for part in parts]


def _order(form: Form, header: Sequence[str]) -> list[int]:
    """Return where the id stands, and then the predictions in the order of the classes."""
    if len(set(header)) < len(header):
        raise SubmissionError(COLUMNS)
    one = form.classes_predicted or form.between is not None
    singles = [(form.id, name) for name in ("prediction", form.label) if one or len(form.classes) == 2]
    for names in singles if one else (*singles, (form.id, *form.classes)):
        if set(header) == set(names):
            return [header.index(name) for name in names]
    raise SubmissionError(COLUMNS)


def _class(form: Form, value: Any) -> int:
    if isinstance(value, str | numbers.Integral) and not isinstance(value, bool) and str(value) in form.classes:
        return form.classes.index(str(value))
    raise SubmissionError(VALUE)


def _numbers(form: Form, values: list[Any]) -> list[float]:
    row = [_number(value) for value in values]
    if form.between is not None:
        return [min(form.between[1], max(form.between[0], row[0]))]
    if min(row) < 0 or max(row) > 1 or (len(row) > 1 and max(row) <= 0):
        raise SubmissionError(RANGE)
    return row


def _normalised(row: list[float]) -> list[float]:
    """Return probabilities that sum to 1; scaled before they are added, so that tiny ones keep their proportions."""
    if len(row) == 1:
        row = [1 - row[0], row[0]]
    scaled = [value / max(row) for value in row]
    total = functools.reduce(operator.add, scaled)  # one after the other, as the board adds up to seven classes
    return [value / total for value in scaled]


def _number(value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if not isinstance(value, float) and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise SubmissionError(VALUE)
    if not math.isfinite(value):
        raise SubmissionError(VALUE)
    return float(value)


def _deviation(settings: Settings, labels: Sequence[int], rows: Sequence[float]) -> Fraction:
    """Return the mean in units of the largest cost, on the grid of costs, and then in those of the score."""
    power, root = OF_VALUES[settings.metric]
    values, low, high = settings.values, min(settings.values), max(settings.values)
    cut = (min(high, max(low, row)) for row in rows)
    away = [min(1.0, abs(row - values[label]) / (high - low)) for label, row in zip(labels, cut, strict=True)]
    mean = _mean([share * share for share in away] if power == 2 else away)
    if root:
        mean = Fraction(math.isqrt(mean.numerator * GRID * GRID // mean.denominator), GRID)
    return mean * settings.high


def _balanced(labels: Sequence[int], rows: Sequence[int], n_classes: int) -> Fraction | None:
    shares = []
    for code in range(n_classes):
        own = [row == code for label, row in zip(labels, rows, strict=True) if label == code]
        if not own:
            return None
        shares.append(Fraction(sum(own), len(own)))
    return sum(shares, Fraction(0)) / n_classes


def _f1(labels: Sequence[int], rows: Sequence[int], last: int) -> Fraction:
    both = sum(label == last == row for label, row in zip(labels, rows, strict=True))
    either = labels.count(last) + rows.count(last)
    return Fraction(2 * both, either) if either else Fraction(0)


def _roc_auc(labels: Sequence[int], scores: Sequence[float]) -> Fraction | None:
    positive = sum(labels)
    if positive in (0, len(labels)):
        return None
    size: dict[float, int] = {}
    for score in scores:
        size[score] = size.get(score, 0) + 1
    rank, before = {}, 0
    for score in sorted(size):
        rank[score] = 2 * before + size[score] + 1  # twice the mean rank of every value
        before += size[score]
    above = sum(rank[score] for label, score in zip(labels, scores, strict=True) if label) - positive * (positive + 1)
    return Fraction(above, 2 * positive * (len(labels) - positive))


def _mean(costs: list[float]) -> Fraction:
    return Fraction(sum(round(cost * GRID) for cost in costs), GRID * len(costs))


def _table(path: str) -> tuple[list[str], list[list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        header, *rows = [[cell.strip() for cell in cells] for cells in cells_of(file.read()) if cells]
    return header, rows
