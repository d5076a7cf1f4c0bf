"""Reads what a model said: probabilities, rounded or not, logits, or predicted classes, as its view declares.

* **Probabilities**: CSV, one row per record, one column per class; the header, if any, names the classes (a first row
  ``0,1,...,K-1``, or of the planted numbers, is one). One column alone is the probability of the class that its header
  names, else of class 1. Declared as rounded, no number may have more decimals, and rows need not sum to one exactly.
* **Logits**: the same with any finite numbers (log-probabilities are logits); one column alone is the log-odds of
  that class.
* **Values**: one column of numbers below a header. What is said for a point of the grid is minus the squared distance
  to it, in steps of the grid.
* **Top-1**: one column with a header and the name of the predicted class in every row. The classes are those that occur
  there or among the planted labels, in the order of their names.

A column ``record`` holds the id of every row. Probabilities and logits may be arrays instead: ``.npy``, shape
``(n, K)`` or ``(n,)``, or ``.npz`` with ``probabilities`` or ``logits``, and ``record`` and ``classes`` if there is
need; or a Parquet table with a column for every class (extra ``parquet``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.arrays import read_arrays
from labelinf_data.encode import in_order, is_missing, is_number, one_name_each
from labelinf_data.table import Row, read_rows
from labelinf_outputs.game.output import Release
from labelinf_outputs.game.view import Outputs, View

__all__ = ["Predictions", "few_decimals", "log_softmax", "predictions_of", "read_predictions"]

Floats = NDArray[np.float64]

_SUM_TOLERANCE = 1e-3
_DECIMAL_TOLERANCE = 1e-6  # of a step of rounding
_RECORD = "record"
_IDS = f"; ids stand in the column {_RECORD!r}."
_FEWEST, _TELLING = 20, 1000  # rows from which rounding is told


@attrs.frozen(kw_only=True, eq=False)
class Predictions:
    """What a model said of records.

    Attributes:
        probabilities: Shape ``(n, K)``.
        log_probabilities: Their logarithms, exact where logits were read.
        class_names: The user's own name of every class.
        records: The id of every row, shape ``(n,)``, or None.
        decimals: How few decimals all probabilities have, where these are few: they were rounded.
        named: Whether columns 0..K-1 are classes of these names; else they are only counted.
    """

    probabilities: Floats
    log_probabilities: Floats
    class_names: tuple[str, ...]
    records: NDArray[np.str_] | None = None
    decimals: int | None = None
    named: bool = True

    def classes(self, path: str, planned: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the class of every column; columns that are only counted have the order of ``planned``.

        Raises:
            InputError: That is not the only order in which a library could have put these classes.
        """
        counted = tuple(map(str, range(len(self.class_names))))
        if self.named or self.class_names != counted or len(planned) not in (0, len(counted)):
            return self.class_names
        planned = planned or counted
        if len({planned, in_order(planned), tuple(sorted(planned))}) > 1:
            hint = ", in the order of text (0, 1, 10, ...)" if {*planned} == {*counted} else ""
            raise InputError(
                f"{path}: the columns of predictions are counted, 0..{len(counted) - 1}, and the classes have another "
                f"order as text than as numbers: head each column with its class{hint}, or add 'classes' to the .npz."
            )
        return planned

    def release(self, rows: NDArray[np.intp], losses: Floats | None) -> Release:
        """Return what is shown of some of the records."""
        return Release(
            probabilities=self.probabilities[rows], log_probabilities=self.log_probabilities[rows], losses=losses
        )


@attrs.frozen(kw_only=True, eq=False)
class _Said:
    """Numbers as they stand in a file."""

    values: Floats
    names: tuple[str, ...]
    records: NDArray[np.str_] | None
    first: int  # where the file's own counting of rows begins
    named: bool = False  # whether it is told apart from counting


def read_predictions(path: str, view: View, labels: Sequence[str] = ()) -> Predictions:
    """Read a file of predictions.

    Args:
        path: The file.
        view: What it declares to be visible: which outputs, and how they are rounded.
        labels: Names of classes that occur elsewhere; predicted classes alone may miss some.

    Raises:
        InputError: The file cannot be used as it is; the message says what is wrong and where.
    """
    if view.outputs is Outputs.TOP_ONE:
        return _classes(path, read_rows(path), view, labels)
    if view.outputs is Outputs.VALUES:
        return _values(path, labels)
    if path.endswith(".parquet"):
        said = _of_parquet(path)
    else:
        said = _of_arrays(path, view) if path.endswith((".npy", ".npz")) else _of_text(path, labels)
    return _shown(path, said, view, labels)


def predictions_of(
    place: str, values: NDArray[Any], view: View, classes: Sequence[str] = (), labels: Sequence[str] = ()
) -> Predictions:
    """Return what a model said, of arrays.

    Args:
        place: How a message names it.
        values: Probabilities or logits, shape ``(n, K)`` or ``(n,)``; or predicted classes, shape ``(n,)``.
        view: What is visible: which outputs, and how they are rounded.
        classes: Names of the classes, in the order of the columns; 0..K-1 when empty.
        labels: Names of classes that occur elsewhere; predicted classes alone may miss some.

    Raises:
        InputError: They cannot be used as they are.
    """
    ids = np.arange(len(values)).astype(np.str_) if values.ndim else None
    if view.outputs is Outputs.TOP_ONE:
        rows = [(0, ("class",)), *((at, (str(value),)) for at, value in enumerate(values.ravel()))]
        return attrs.evolve(_classes(place, rows, view, labels), records=ids)
    return _shown(place, _of_array(place, values, str(view.outputs.value), classes or None, ids), view, labels)


def _shown(path: str, said: _Said, view: View, labels: Sequence[str]) -> Predictions:
    values, decimals, names = said.values, None, said.names
    if len(names) == 1:  # the class that one column is about, where it is named
        others = sorted({*labels} - {*names})
        names = (others[0], *names) if len(others) == 1 and names[0] in labels else ("0", "1")
    if view.outputs is Outputs.LOGITS:
        logs = log_softmax(np.hstack([np.zeros_like(values), values]) if values.shape[1] == 1 else values)
        shown = np.exp(logs)
    else:
        if values.shape[1] == 1:
            values = np.hstack([1 - values, values])
        _check_probabilities(path, values, view.resolution, said.first)
        decimals = few_decimals(values)
        shown = values if view.resolution else values / values.sum(axis=1, keepdims=True)
        logs = np.log(np.maximum(shown, view.smallest))
    return Predictions(
        probabilities=shown,
        log_probabilities=logs,
        class_names=names,
        records=said.records,
        decimals=decimals,
        named=said.named,
    )


def _values(path: str, labels: Sequence[str]) -> Predictions:
    names = in_order(labels)
    if not all(map(is_number, names)) or len(names) < 2:
        raise InputError(f"{path}: values are joined with values that were planted on a grid, and these are classes.")
    said = _of_arrays(path, View(outputs=Outputs.LOGITS)) if path.endswith(".npz") else _of_text(path, ())
    if said.values.shape[1] != 1:
        raise InputError(f"{path} must have one column of values beside 'record'; it has {said.values.shape[1]}.")
    grid = np.array([float(name) for name in names])
    logs = log_softmax(-np.square((said.values - grid) / np.diff(grid).min()))
    return Predictions(probabilities=np.exp(logs), log_probabilities=logs, class_names=names, records=said.records)


def log_softmax(logits: Floats) -> Floats:
    """Return log-probabilities; the last axis runs over the classes."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _of_arrays(path: str, view: View) -> _Said:
    arrays = read_arrays(path)
    kind = "logits" if view.outputs is Outputs.LOGITS else "probabilities"
    if path.endswith(".npz") and kind not in arrays:
        raise InputError(f"{path} has no array {kind!r}; it has {', '.join(map(repr, sorted(arrays))) or 'none'}.")
    values = next(iter(arrays.values())) if path.endswith(".npy") else arrays[kind]
    return _of_array(path, values, kind, arrays.get("classes"), arrays.get(_RECORD))


def _of_array(path: str, values: NDArray[Any], kind: str, classes: Any, records: NDArray[Any] | None) -> _Said:
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.size or values.dtype.kind not in "fiu":
        raise InputError(f"{path}: {kind} of shape {values.shape} must be numbers of shape (n, K), n >= 1, K >= 1.")
    if not (finite := np.isfinite(values).all(axis=1)).all():
        raise InputError(f"{path}: row {int((~finite).argmax())} (counted from 0) must hold finite numbers.")
    n_classes = max(values.shape[1], 2)
    names = tuple(map(str, range(n_classes) if classes is None else classes))
    if len(set(names)) != n_classes or (records is not None and records.shape != values.shape[:1]):
        raise InputError(f"{path}: classes must be {n_classes} different names, record one id for each row.")
    try:
        ids = None if records is None else records.astype(np.str_)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: record must be numbers or text, not bytes beyond ASCII.") from error
    return _Said(values=values.astype(np.float64), names=names, records=ids, first=0, named=classes is not None)


def _of_parquet(path: str) -> _Said:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise InputError(f"{path} needs pyarrow, which the extra labelinf[parquet] brings.") from error
    try:
        table = parquet.read_table(path)
    except (OSError, ArrowException) as error:
        raise InputError(f"{path} cannot be read as a Parquet table.") from error
    columns, place, names = _columns(path, table.column_names, table.num_columns)
    arrays = [table.column(index).to_numpy() for index in columns]
    if not table.num_rows or any(array.dtype.kind not in "fiu" for array in arrays):
        raise InputError(f"{path} must have a row per record, and numbers in every column but 'record'.")
    values = np.column_stack(arrays).astype(np.float64)
    if not (finite := np.isfinite(values).all(axis=1)).all():
        raise InputError(f"{path}: row {int((~finite).argmax())} (counted from 0) must hold finite numbers.")
    ids = None if place is None else table.column(place).to_numpy().astype(np.str_)
    return _Said(values=values, names=names, records=ids, first=0)


def _heads(first: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether a row of numbers may be names of classes; 1,0 is a record."""
    counted = tuple(str(k) for k in range(len(first)))
    return len(first) > 1 and (first == counted or {"0", "1"} != {*first} == {*labels})


def _columns(path: str, header: Sequence[str] | None, width: int) -> tuple[list[int], int | None, tuple[str, ...]]:
    """Return where the predictions stand, where the ids, and the names of the classes."""
    if header and len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path}: its header names class {twice!r} twice; every class needs a name of its own.")
    place = header.index(_RECORD) if header and _RECORD in header else None
    columns = [index for index in range(width) if index != place]
    if not columns:
        raise InputError(f"{path} has a column 'record' and no predictions.")
    names = [header[index] for index in columns] if header else []
    return columns, place, tuple(names or map(str, range(max(len(columns), 2))))


def _of_text(path: str, labels: Sequence[str]) -> _Said:
    rows = read_rows(path)
    header, width = _header(path, rows, labels), len(rows[0][1])
    body = rows[1:] if header else rows
    if not body:
        raise InputError(f"{path} has a header and no rows. It needs one row of numbers per record.")
    columns, place, names = _columns(path, header, width)
    values = np.array([_numbers(cells, columns, width) for _, cells in body])
    if not (finite := np.isfinite(values).all(axis=1)).all():
        at = body[int((~finite).argmax())][0]
        raise InputError(f"{path}: row {at} must hold {len(columns)} finite numbers in {width} cells{_IDS}")
    ids = None if place is None else np.array([cells[place] for _, cells in body])
    return _Said(values=values, names=names, records=ids, first=body[0][0])


def _numbers(cells: Sequence[str], columns: Sequence[int], width: int) -> list[float]:
    """Return the numbers of a row, NaN where it holds none."""
    try:
        return [float(cells[index]) for index in columns] if len(cells) == width else [np.nan] * len(columns)
    except ValueError:
        return [np.nan] * len(columns)


def _header(path: str, rows: Sequence[Row], labels: Sequence[str]) -> Sequence[str] | None:
    """Return the names in the first row, or None when it is a record already."""
    first = rows[0][1]
    if _heads(first, labels):
        if len(rows) > 1 and all(cell.isdecimal() for _, cells in rows[1:] for cell in cells):
            raise InputError(
                f"{path}: row 1, {','.join(first)}, may be a header or a record. Name the classes, or write 0.0,1.0."
            )
        return first
    return None if all(map(is_number, first)) else first


def _classes(path: str, rows: Sequence[Row], view: View, labels: Sequence[str]) -> Predictions:
    header, *body = [cells for _, cells in rows]
    place = header.index(_RECORD) if _RECORD in header else None
    width = 1 if place is None else 2
    wrong = [at for at, row in rows[1:] if len(row) != width or any(map(is_missing, row))]
    if len(header) != width or wrong or not body:
        where = f", and row {wrong[0]} does not" if wrong and len(header) == width else ""
        raise InputError(
            f"{path} must have one column, beside 'record' if that is there: a header, and the predicted class of "
            f"every record below it{where}."
        )
    predicted = [row[0 if place is None else 1 - place] for row in body]
    if not {*predicted} & {*labels}:
        raise InputError(
            f"{path} and the planted labels have no name of a class in common. Use the same names in both files."
        )
    names = in_order([*predicted, *labels])
    one_name_each(names, f"{path}, with the planted labels,")
    index = {name: k for k, name in enumerate(names)}
    shown = np.eye(len(names))[[index[name] for name in predicted]]
    return Predictions(
        probabilities=shown,
        log_probabilities=np.log(np.maximum(shown, view.smallest)),
        class_names=names,
        records=None if place is None else np.array([row[place] for row in body]),
    )


def _check_probabilities(path: str, values: Floats, step: float, first: int) -> None:
    """Check that every row is a distribution, up to rounding, and is rounded as declared."""
    slack = _SUM_TOLERANCE + step / 2 * values.shape[1]
    wrong = (values < 0).any(axis=1) | (values > 1).any(axis=1) | (np.abs(values.sum(axis=1) - 1) > slack)
    if wrong.any():
        raise InputError(f"{path}: row {wrong.argmax() + first} must be probabilities that sum to one{_IDS}")
    if step and (finer := is_finer(values, step).any(axis=1)).any():
        raise InputError(f"{path}: row {int(finer.argmax()) + first} is declared as rounded to {step:g} and is not.")


def few_decimals(values: Floats) -> int | None:
    """Return how many decimals probabilities were rounded to, at most four, or None where they seem not to be.

    A thousand rows tell; a score, and nothing but zeros and ones, tell nothing.
    """
    some = values[:_TELLING]
    if len(some) < _FEWEST or np.isin(some, (0, 1)).all():
        return None
    return next((count for count in range(1, 5) if not is_finer(some, 10.0**-count).any()), None)


def is_finer(values: Floats, step: float) -> NDArray[np.bool_]:
    """Return which values are no multiples of ``step``."""
    return np.asarray(np.abs(values / step - np.round(values / step)) > _DECIMAL_TOLERANCE)
