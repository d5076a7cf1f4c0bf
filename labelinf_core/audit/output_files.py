"""Reads what an auditor already has: a model's predictions, the planted labels, and reference models.

* **Predictions**: CSV, one row per record, one column per class; the header, if any, names the classes. One column
  alone is the probability of class 1.
* **Canaries**: CSV with a header: ``label`` (a class name, or 0..K-1), and if not every record is a canary ``record``,
  the row of the prediction counted from 0. A column ``loss`` with the model's loss on the planted label declares that
  the adversary sees it.
* **References**: an ``.npz`` file with ``probabilities``, shape ``(R, m, K)``, and ``labels``, shape ``(R, m)``: what R
  models with other planted labels say of the same m canaries. Nothing is unpickled.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.channels.output import LossOracle, References, Release, View
from labelinf_core.errors import InputError

__all__ = ["Planted", "read_planted"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_SUM_TOLERANCE = 1e-3


@attrs.frozen(kw_only=True, eq=False)
class Planted:
    """An audit's input.

    Attributes:
        release: What the model shows of the canaries.
        labels: Their planted labels, shape ``(m,)``.
        class_names: The user's own name of every class.
        view: What the files declare to be visible.
        references: Reference models, or None.
    """

    release: Release
    labels: Labels
    class_names: tuple[str, ...]
    view: View
    references: References | None = None


def read_planted(predictions: str, canaries: str, references: str | None = None) -> Planted:
    """Read and check an audit's files.

    Raises:
        InputError: A file cannot be used as it is; the message says what is wrong and where.
    """
    probabilities, names = _predictions(predictions)
    rows, labels, losses = _canaries(canaries, len(probabilities), names)
    known = _references(references, rows, probabilities.shape) if references else None
    view = View(
        loss=LossOracle.NONE if losses is None else LossOracle.PLANTED,
        references=0 if known is None else len(known.planted),
    )
    shown = probabilities[rows]
    release = Release(probabilities=shown, log_probabilities=np.log(np.maximum(shown, view.smallest)), losses=losses)
    return Planted(release=release, labels=labels, class_names=names, view=view, references=known)


def _predictions(path: str) -> tuple[Floats, tuple[str, ...]]:
    table = _table(path)
    header = None if all(map(_is_number, table[0])) else table[0]
    body = table[1:] if header else table
    if not body:
        raise InputError(f"{path} has a header and no rows. It needs one row of probabilities per record.")
    first = 2 if header else 1
    for number, cells in enumerate(body, first):
        if len(cells) != len(table[0]) or not all(map(_is_number, cells)):
            raise InputError(f"{path}: row {number} must hold {len(table[0])} numbers, got {', '.join(cells)}.")
    values = np.array(body, dtype=np.float64)
    if values.shape[1] == 1:
        values, header = np.hstack([1 - values, values]), None
    wrong = (values < 0).any(axis=1) | (values > 1).any(axis=1) | (np.abs(values.sum(axis=1) - 1) > _SUM_TOLERANCE)
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(f"{path}: row {at + first} must be probabilities that sum to one, got {', '.join(body[at])}.")
    names = header or [str(k) for k in range(values.shape[1])]
    return values / values.sum(axis=1, keepdims=True), tuple(names)


def _canaries(path: str, n_records: int, names: tuple[str, ...]) -> tuple[Labels, Labels, Floats | None]:
    header, *body = _table(path)
    if "label" not in header:
        raise InputError(f"{path} has no column 'label'. Columns are {', '.join(map(repr, header))}.")
    if not body:
        raise InputError(f"{path} has no rows. It needs one row per planted label.")
    for number, cells in enumerate(body, 2):
        if len(cells) != len(header):
            raise InputError(f"{path}: row {number} has {len(cells)} cells, the header has {len(header)}.")
    column = {name: [cells[index] for cells in body] for index, name in enumerate(header)}
    labels = np.array([_class(path, number, text, names) for number, text in enumerate(column["label"], 2)])
    rows = _records(path, column.get("record"), len(body), n_records)
    if "loss" not in column:
        return rows, labels, None
    return rows, labels, np.array([_loss(path, number, text) for number, text in enumerate(column["loss"], 2)])


def _records(path: str, written: Sequence[str] | None, n_canaries: int, n_records: int) -> Labels:
    if written is None:
        if n_canaries != n_records:
            raise InputError(
                f"{path} has {n_canaries} canaries for {n_records} predictions; a column 'record' must say which row "
                f"of the predictions each belongs to, counted from 0."
            )
        return np.arange(n_records)
    for number, text in enumerate(written, 2):
        if not text.isdigit() or int(text) >= n_records:
            raise InputError(f"{path}: row {number}: record {text!r} must be a whole number in 0..{n_records - 1}.")
    rows = np.array(written, dtype=np.intp)
    values, counts = np.unique(rows, return_counts=True)
    if counts.max() > 1:
        raise InputError(f"{path}: record {values[counts.argmax()]} stands there {counts.max()} times, each must once.")
    return rows


def _class(path: str, number: int, text: str, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text)
    raise InputError(f"{path}: row {number}: label {text!r} must be one of {', '.join(names)}.")


def _loss(path: str, number: int, text: str) -> float:
    if not _is_number(text) or float(text) < 0:
        raise InputError(f"{path}: row {number}: loss {text!r} must be a number that is not negative.")
    return float(text)


def _references(path: str, rows: Labels, shape: tuple[int, ...]) -> References:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            probabilities, labels = np.asarray(arrays["probabilities"]), np.asarray(arrays["labels"])
    except KeyError as error:
        raise InputError(f"{path} has no array {error.args[0]!r}; it needs 'probabilities' and 'labels'.") from error
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a NumPy .npz file that can be read ({error}).") from error
    if probabilities.ndim == 3 and probabilities.shape[1] == shape[0] != rows.size:
        probabilities = probabilities[:, rows]
        labels = labels[:, rows] if labels.shape[1:] == (shape[0],) else labels
    wanted = (len(probabilities), rows.size, shape[1])
    if probabilities.shape != wanted or labels.shape != wanted[:2] or probabilities.dtype.kind != "f":
        raise InputError(
            f"{path}: probabilities {probabilities.shape} and labels {labels.shape} must have shapes "
            f"(R, {rows.size}, {shape[1]}) and (R, {rows.size}): R models, {rows.size} canaries, {shape[1]} classes."
        )
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InputError(f"{path}: probabilities must lie in [0, 1].")
    if labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < shape[1])).all():
        raise InputError(f"{path}: labels must be whole numbers in 0..{shape[1] - 1}.")
    logs = np.log(np.maximum(probabilities.astype(np.float64), View().smallest))
    planted = labels.astype(np.intp)
    return References(log_probabilities=logs, planted=planted, trained=planted)


def _table(path: str) -> list[list[str]]:
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


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
