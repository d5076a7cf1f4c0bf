"""A scorer that keeps nothing: of public rows, rounded. Standard library only; an exported file is made of this text.

It answers as a board without noise does, digit for digit, but there is no ledger behind it: who sends more
submissions is told more. Whatever is wrong with a submission is one constant sentence, without a line or a value.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["LabelsError", "Settings", "SubmissionError", "answer", "canonical", "labels_of"]

_GRID = 1 << 40
_VALUES = {"mae": (1, False), "mse": (2, False), "rmse": (2, True)}  # power, and whether the root is told
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?", re.ASCII)
_COLUMNS = "The columns must be the board's id and 'prediction', or, for probabilities, one for every class."
_UNKNOWN = "An id is not one of those that are expected."
_DUPLICATE = "An id occurs more than once."
_MISSING = "An expected id is missing."
_VALUE = "A prediction must be a class of this board, or a finite decimal number."
_RANGE = "Probabilities must lie between 0 and 1, and not all of a row may be 0."


class SubmissionError(Exception):
    """A submission cannot be scored; its text is one of a few constant sentences, made to be shown."""


class LabelsError(Exception):
    """The host's labels cannot be used; its text is constant too, for some platforms show it to everybody."""

    def __init__(self) -> None:
        super().__init__("The labels of this board cannot be used. Please tell the host.")


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
    def classes_predicted(self) -> bool:
        """Whether a row is a class; else probabilities."""
        return self.metric in ("accuracy", "balanced-accuracy", "f1")

    @property
    def values(self) -> tuple[float, ...]:
        """What the classes stand for where a row is a number of their range; empty where it is not."""
        return tuple(map(float, self.classes)) if self.metric in _VALUES else ()

    @property
    def high(self) -> Fraction | float:
        """Of all scores."""
        if self.values:
            power, root = _VALUES[self.metric]
            span = max(map(Fraction, self.classes)) - min(map(Fraction, self.classes))
            return span if root else span**power
        return -math.log(self.clip) if self.metric == "log-loss" else 1.0

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
    order, wanted, found = _order(settings, [str(name) for name in header]), set(expected), {}
    for cells in rows:
        if len(cells) != len(header):
            raise SubmissionError(_COLUMNS)
        name, *values = (cells[at] for at in order)
        if str(name) not in wanted:
            raise SubmissionError(_UNKNOWN)
        if str(name) in found:
            raise SubmissionError(_DUPLICATE)
        found[str(name)] = _cell(settings, values)
    if len(found) < len(wanted):
        raise SubmissionError(_MISSING)
    return found


def answer(settings: Settings, labels: Mapping[str, int], rows: Mapping[str, Any]) -> str:
    """Return the score of some labels as it is told; the worst one where there is none."""
    ids = sorted(labels)
    score = _score(settings, [labels[name] for name in ids], [rows[name] for name in ids])
    if score is None:
        score = Fraction(0)
    ten = 10**settings.decimals
    most = math.ceil(settings.high * ten)
    whole, part = divmod(max(0, min(most, math.floor(score * ten + Fraction(1, 2)))), ten)
    said = f"{whole:0{len(str(most // ten))}d}"
    return f"{said}.{part:0{settings.decimals}d}" if settings.decimals else said


def _order(settings: Settings, header: list[str]) -> list[int]:
    if len(set(header)) < len(header):
        raise SubmissionError(_COLUMNS)
    single, wide = (settings.id, "prediction"), (settings.id, *settings.classes)
    one = settings.classes_predicted or bool(settings.values)
    if set(header) == set(single) and (one or len(settings.classes) == 2):
        return [header.index(name) for name in single]
    if set(header) == set(wide) and not one:
        return [header.index(name) for name in wide]
    raise SubmissionError(_COLUMNS)


def _cell(settings: Settings, values: list[Any]) -> Any:
    if settings.values:
        return min(max(settings.values), max(min(settings.values), _number(values[0])))
    return _class(settings, values[0]) if settings.classes_predicted else _row(values)


def _class(settings: Settings, value: Any) -> int:
    if isinstance(value, str | numbers.Integral) and not isinstance(value, bool) and str(value) in settings.classes:
        return settings.classes.index(str(value))
    raise SubmissionError(_VALUE)


def _row(values: list[Any]) -> list[float]:
    row = [_number(value) for value in values]
    if min(row) < 0 or max(row) > 1 or (len(row) > 1 and max(row) <= 0):
        raise SubmissionError(_RANGE)
    if len(row) == 1:
        row = [1 - row[0], row[0]]
    scaled = [value / max(row) for value in row]
    total = sum(scaled)
    return [value / total for value in scaled]


def _number(value: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise SubmissionError(_VALUE)
    return float(value)


def _score(settings: Settings, labels: list[int], rows: list[Any]) -> Fraction | None:
    if settings.values:
        return _deviation(settings, labels, rows)
    if settings.metric == "accuracy":
        return Fraction(sum(label == row for label, row in zip(labels, rows, strict=True)), len(labels))
    if settings.metric == "balanced-accuracy":
        return _balanced(labels, rows, len(settings.classes))
    if settings.metric == "f1":
        return _f1(labels, rows, len(settings.classes) - 1)
    if settings.metric == "roc-auc":
        return _roc_auc(labels, [row[1] for row in rows]) if len(settings.classes) == 2 else None
    if settings.metric == "log-loss":
        low = settings.clip
        costs = [-math.log(min(1 - low, max(low, row[label]))) for label, row in zip(labels, rows, strict=True)]
        return _mean(costs)
    costs = [(sum(p * p for p in row) + 1) / 2 - row[label] for label, row in zip(labels, rows, strict=True)]
    return _mean([min(1.0, max(0.0, cost)) for cost in costs])


def _deviation(settings: Settings, labels: list[int], rows: list[float]) -> Fraction:
    """Return the mean in units of the largest cost, on the grid of costs, and then in those of the score."""
    power, root = _VALUES[settings.metric]
    span = max(settings.values) - min(settings.values)
    away = [min(1.0, abs(row - settings.values[label]) / span) for label, row in zip(labels, rows, strict=True)]
    mean = _mean([share * share for share in away] if power == 2 else away)
    if root:
        mean = Fraction(math.isqrt(mean.numerator * _GRID * _GRID // mean.denominator), _GRID)
    return mean * Fraction(settings.high)


def _balanced(labels: list[int], rows: list[int], n_classes: int) -> Fraction | None:
    shares = []
    for code in range(n_classes):
        own = [row == code for label, row in zip(labels, rows, strict=True) if label == code]
        if not own:
            return None
        shares.append(Fraction(sum(own), len(own)))
    return sum(shares, Fraction(0)) / n_classes


def _f1(labels: list[int], rows: list[int], last: int) -> Fraction:
    both = sum(label == last == row for label, row in zip(labels, rows, strict=True))
    either = labels.count(last) + rows.count(last)
    return Fraction(2 * both, either) if either else Fraction(0)


def _roc_auc(labels: list[int], scores: list[float]) -> Fraction | None:
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
    return Fraction(sum(round(cost * _GRID) for cost in costs), _GRID * len(costs))
