"""Reads what an auditor already has: a model's predictions, the planted labels, and reference models.

* **Predictions**: what the model says of every record; see :mod:`labelinf_outputs.audit.predictions`.
* **Canaries**: CSV with a header: ``label`` (a class name; 0..K-1 where the predictions name
  none), and if not every record is a canary ``record``,
  the row of the prediction counted from 0. A column ``loss`` with the model's loss on the planted label declares that
  the adversary sees it. A column ``trained`` with the label that the model was trained on, after every mechanism, lets
  the audit say how much of *that* is memorised.
* **References**: an ``.npz`` file with ``probabilities`` or ``logits``, shape ``(R, m, K)``, and ``labels``, shape
  ``(R, m)``: what R models with other planted labels say of the same m canaries. ``trained``, of the same shape as the
  labels, are those they were trained on, where a mechanism lies between. Nothing is unpickled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_outputs.audit.predictions import is_number, log_softmax, read_predictions, read_table
from labelinf_outputs.game.output import References, Release
from labelinf_outputs.game.view import LossOracle, View

__all__ = ["Planted", "read_planted"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]


@attrs.frozen(kw_only=True, eq=False)
class Planted:
    """An audit's input.

    Attributes:
        release: What the model shows of the canaries.
        labels: Their planted labels, shape ``(m,)``.
        class_names: The user's own name of every class.
        view: What the files declare to be visible.
        references: Reference models, or None.
        trained: The labels the model was trained on, after every mechanism, shape ``(m,)``, or None.
    """

    release: Release
    labels: Labels
    class_names: tuple[str, ...]
    view: View
    references: References | None = None
    trained: Labels | None = None


def read_planted(
    predictions: str,
    canaries: str,
    references: str | None = None,
    *,
    view: View = View(),  # noqa: B008
) -> Planted:
    """Read and check an audit's files.

    Args:
        predictions: CSV file.
        canaries: CSV file.
        references: NumPy file, if there is one.
        view: Which outputs the predictions are, and how they are rounded; the files say the rest.

    Raises:
        InputError: A file cannot be used as it is; the message says what is wrong and where.
    """
    columns = _columns(canaries)
    said = read_predictions(predictions, view, columns["label"])
    names = said.class_names
    rows = _records(canaries, columns.get("record"), len(columns["label"]), len(said.probabilities))
    losses = [_loss(canaries, number, text) for number, text in enumerate(columns.get("loss", []), 2)]
    known = _references(references, rows, said.probabilities.shape, view) if references else None
    view = attrs.evolve(
        view,
        loss=LossOracle.PLANTED if losses else LossOracle.NONE,
        references=0 if known is None else len(known.planted),
    )
    return Planted(
        release=said.release(rows, np.array(losses) if losses else None),
        labels=_classes(canaries, "label", columns["label"], names),
        class_names=names,
        view=view,
        references=known,
        trained=_classes(canaries, "trained", columns["trained"], names) if "trained" in columns else None,
    )


def _columns(path: str) -> dict[str, list[str]]:
    header, *body = read_table(path)
    if "label" not in header:
        raise InputError(f"{path} has no column 'label'. Columns are {', '.join(map(repr, header))}.")
    if not body:
        raise InputError(f"{path} has no rows. It needs one row per planted label.")
    for number, cells in enumerate(body, 2):
        if len(cells) != len(header):
            raise InputError(f"{path}: row {number} has {len(cells)} cells, the header has {len(header)}.")
    return {name: [cells[index] for cells in body] for index, name in enumerate(header)}


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


def _classes(path: str, column: str, written: Sequence[str], names: tuple[str, ...]) -> Labels:
    place = {name: index for index, name in enumerate(names)}
    for number, text in enumerate(written, 2):
        if text not in place:
            raise InputError(f"{path}: row {number}: {column} {text!r} must be one of {', '.join(names)}.")
    return np.array([place[text] for text in written], dtype=np.intp)


def _loss(path: str, number: int, text: str) -> float:
    if not is_number(text) or float(text) < 0:
        raise InputError(f"{path}: row {number}: loss {text!r} must be a number that is not negative.")
    return float(text)


def _references(path: str, rows: Labels, shape: tuple[int, ...], view: View) -> References:
    arrays = {name: _of_canaries(array, rows, shape[0]) for name, array in _arrays(path).items()}
    kind = "logits" if "logits" in arrays else "probabilities"
    for name in (kind, "labels"):
        if name not in arrays:
            raise InputError(f"{path} has no array {name!r}; it needs 'probabilities' and 'labels'.")
    said, labels = arrays[kind], arrays["labels"]
    wanted = (*said.shape[:1], rows.size, shape[1])
    if said.shape != wanted or labels.shape != wanted[:2] or said.dtype.kind != "f":
        raise InputError(
            f"{path}: {kind} {said.shape} and labels {labels.shape} must have shapes "
            f"(R, {rows.size}, {shape[1]}) and (R, {rows.size}): R models, {rows.size} canaries, {shape[1]} classes."
        )
    if kind == "probabilities" and not ((said >= 0) & (said <= 1)).all():
        raise InputError(f"{path}: probabilities must lie in [0, 1].")
    if not np.isfinite(said).all():
        raise InputError(f"{path}: logits must be finite numbers.")
    whole = said.astype(np.float64)
    return References(
        log_probabilities=log_softmax(whole) if kind == "logits" else np.log(np.maximum(whole, view.smallest)),
        planted=_drawn(path, "labels", labels, shape[1]),
        trained=_drawn(path, "trained", arrays.get("trained", labels), shape[1], labels.shape),
    )


def _arrays(path: str) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: np.asarray(arrays[name]) for name in arrays}
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (OSError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a NumPy .npz file that can be read; numpy.savez writes one.") from error


def _of_canaries(array: NDArray[Any], rows: Labels, n_records: int) -> NDArray[Any]:
    """Return what an array says of the canaries, where it has a column for every record."""
    every = array.ndim > 1 and array.shape[1] == n_records != rows.size
    return array[:, rows] if every else array


def _drawn(path: str, name: str, labels: NDArray[Any], n_classes: int, shape: tuple[int, ...] | None = None) -> Labels:
    if shape is not None and labels.shape != shape:
        raise InputError(f"{path}: {name} {labels.shape} must have the shape of labels, {shape}.")
    if labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < n_classes)).all():
        raise InputError(f"{path}: {name} must be whole numbers in 0..{n_classes - 1}.")
    return labels.astype(np.intp)
