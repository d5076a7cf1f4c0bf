"""Reads what a model said: probabilities, rounded or not, logits, or predicted classes, as its view declares.

* **Probabilities**: CSV, one row per record, one column per class; the header, if any, names the classes (a first row
  ``0,1,...,K-1`` is one). One column alone is the probability of class 1. Declared as rounded, no number may have more
  decimals, and rows need not sum to one exactly.
* **Logits**: the same with any finite numbers; one column alone is the log-odds of class 1.
* **Top-1**: one column with a header and the name of the predicted class in every row. The classes are those that occur
  there or among the planted labels, in the order of their names.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_outputs.game.output import Release
from labelinf_outputs.game.view import Outputs, View

__all__ = ["Predictions", "is_number", "log_softmax", "read_predictions", "read_table"]

Floats = NDArray[np.float64]
Table = list[list[str]]

_SUM_TOLERANCE = 1e-3
_DECIMAL_TOLERANCE = 1e-6  # of a step of rounding


@attrs.frozen(kw_only=True, eq=False)
class Predictions:
    """What a model said of records.

    Attributes:
        probabilities: Shape ``(n, K)``.
        log_probabilities: Their logarithms, exact where logits were read.
        class_names: The user's own name of every class.
    """

    probabilities: Floats
    log_probabilities: Floats
    class_names: tuple[str, ...]

    def release(self, rows: NDArray[np.intp], losses: Floats | None) -> Release:
        """Return what is shown of some of the records."""
        return Release(
            probabilities=self.probabilities[rows], log_probabilities=self.log_probabilities[rows], losses=losses
        )


def read_predictions(path: str, view: View, labels: Sequence[str] = ()) -> Predictions:
    """Read a file of predictions.

    Args:
        path: The file.
        view: What it declares to be visible: which outputs, and how they are rounded.
        labels: Names of classes that occur elsewhere; predicted classes alone may miss some.

    Raises:
        InputError: The file cannot be used as it is; the message says what is wrong and where.
    """
    table = read_table(path)
    if view.outputs is Outputs.TOP_ONE:
        return _classes(path, table, view, labels)
    header = _header(path, table)
    values = _numbers(path, table, header)
    names = tuple(header if header and len(header) > 1 else map(str, range(max(values.shape[1], 2))))
    if view.outputs is Outputs.LOGITS:
        logits = np.hstack([np.zeros_like(values), values]) if values.shape[1] == 1 else values
        logs = log_softmax(logits)
        return Predictions(probabilities=np.exp(logs), log_probabilities=logs, class_names=names)
    if values.shape[1] == 1:
        values = np.hstack([1 - values, values])
    _check_probabilities(path, table, values, view.resolution, 2 if header else 1)
    shown = values if view.resolution else values / values.sum(axis=1, keepdims=True)
    return _of(shown, view, names)


def read_table(path: str) -> Table:
    """Return the cells of a CSV file, without empty lines.

    Raises:
        InputError: It cannot be read, is not CSV in UTF-8, or is empty.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not CSV in UTF-8 ({error}).") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    return rows


def is_number(text: str) -> bool:
    """Whether ``text`` is a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def log_softmax(logits: Floats) -> Floats:
    """Return log-probabilities; the last axis runs over the classes."""
    return np.asarray(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))


def _header(path: str, table: Table) -> list[str] | None:
    """Return the names in the first row, or None when it is a record already."""
    first, *rest = table
    if len(first) > 1 and first == [str(k) for k in range(len(first))]:
        if rest and all(cell.isdecimal() for row in rest for cell in row):
            raise InputError(
                f"{path}: row 1, {','.join(first)}, may be a header or a record. Name the classes, or write 0.0,1.0."
            )
        return first
    if all(map(is_number, first)):
        return None
    if len(set(first)) < len(first):
        twice = next(name for name in first if first.count(name) > 1)
        raise InputError(f"{path}: its header names class {twice!r} twice; every class needs a name of its own.")
    return first


def _of(shown: Floats, view: View, names: tuple[str, ...]) -> Predictions:
    logs = np.log(np.maximum(shown, view.smallest))
    return Predictions(probabilities=shown, log_probabilities=logs, class_names=names)


def _classes(path: str, table: Table, view: View, labels: Sequence[str]) -> Predictions:
    header, *body = table
    if len(header) != 1 or any(len(row) != 1 or not row[0] for row in body) or not body:
        raise InputError(f"{path} must have one column: a header, and the predicted class of every record below it.")
    predicted = [row[0] for row in body]
    if not {*predicted} & {*labels}:
        raise InputError(
            f"{path} predicts {_some(predicted)}, but the planted labels are {_some(labels)}: no name is in both. Use "
            f"the same names in both files."
        )
    names = tuple(sorted({*predicted, *labels}, key=lambda name: (not name.isdecimal(), name.zfill(9), name)))
    if len(names) < 2:
        raise InputError(f"{path} and the planted labels hold one class, {names[0]!r}; at least two are needed.")
    return _of(np.eye(len(names))[[names.index(name) for name in predicted]], view, names)


def _numbers(path: str, table: Table, header: Sequence[str] | None) -> Floats:
    body = table[1:] if header else table
    if not body:
        raise InputError(f"{path} has a header and no rows. It needs one row of numbers per record.")
    for number, cells in enumerate(body, 2 if header else 1):
        if len(cells) != len(table[0]) or not all(map(is_number, cells)):
            raise InputError(f"{path}: row {number} must hold {len(table[0])} numbers, got {', '.join(cells)}.")
    return np.array(body, dtype=np.float64)


def _check_probabilities(path: str, table: Table, values: Floats, step: float, first: int) -> None:
    """Check that every row is a distribution, up to rounding, and is rounded as declared."""
    slack = _SUM_TOLERANCE + step / 2 * values.shape[1]
    wrong = (values < 0).any(axis=1) | (values > 1).any(axis=1) | (np.abs(values.sum(axis=1) - 1) > slack)
    if wrong.any():
        at = int(wrong.argmax())
        row = ", ".join(table[at + first - 1])
        raise InputError(f"{path}: row {at + first} must be probabilities that sum to one, got {row}.")
    if step and (finer := np.abs(values / step - np.round(values / step)).max(axis=1) > _DECIMAL_TOLERANCE).any():
        at = int(finer.argmax())
        row = ", ".join(table[at + first - 1])
        raise InputError(f"{path}: row {at + first} is declared as rounded to {step:g} and is not, got {row}.")


def _some(names: Sequence[str]) -> str:
    different = sorted(set(names))
    return ", ".join(map(repr, different[:3])) + (", ..." if len(different) > 3 else "")
