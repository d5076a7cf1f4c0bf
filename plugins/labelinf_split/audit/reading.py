"""Reads a recorded run and what was planted in it. Nothing is unpickled.

``run.npz`` has a row for every record of every step: ``embeddings`` and ``gradients`` of shape ``(m, d)``, what was
sent and received as it was released, of the record's own loss, and ``step`` and ``ids`` of shape ``(m,)``. ``classes``,
shape ``(K,)``, names the classes, in the order of the logits; ``features``, shape ``(m, p)``, are the feature party's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.effects import Unknown
from labelinf_core.contracts.errors import InputError
from labelinf_data.arrays import read_arrays
from labelinf_data.encode import is_number
from labelinf_data.table import columns_of
from labelinf_split.game.channel import SplitChannel
from labelinf_split.game.view import Labels, Side, SplitThreat, SplitView

__all__ = ["read_run"]

Arrays = dict[str, NDArray[Any]]

_KINDS = {"embeddings": "f", "gradients": "f", "step": "iu", "ids": "iuU", "features": "f", "classes": "iuU"}
_LARGEST = 1e100  # whose squares can still be added up
_SPARSE = 30  # times as large as the file what has rows by pass and record may be
_NEEDED, _ROWS = tuple(_KINDS)[:4], tuple(_KINDS)[:5]


def read_run(
    *, run: str, canaries: str, known: str | None, top: str, label_features: bool, defended: bool
) -> tuple[SplitView, Labels]:
    """Return what the feature party saw, and the planted labels.

    ``canaries`` and ``known`` name CSV files with columns ``id`` and ``label``: what was planted, and what the feature
    party knows; one file has both, with 1 for the latter in a column ``known``. ``defended`` says that gradients are
    changed before they are released, or labels: then all passes are read together.

    Raises:
        InputError: A file cannot be used as it is; the message says what is wrong and where.
    """
    arrays = _checked(run, read_arrays(run))
    planted, shown = _columns(canaries)
    shown |= _columns(known)[0] if known else {}
    if twice := planted.keys() & shown.keys():
        raise InputError(f"{known}: {len(twice)} of its ids are canaries too; whose label is known is none.")
    logits = arrays["gradients"].shape[1] if top == "none" else 0
    classes = _classes(run, arrays, logits, {*planted.values(), *shown.values()})
    seen = _by_passes(run, arrays, {*planted, *shown})
    epochs, n, width = seen["gradients"].shape
    rows = {str(name): row for row, name in enumerate(seen["ids"][0].tolist())}
    targets, labels = _placed(canaries, planted, rows, classes)
    shots = np.stack(_placed(known or canaries, shown, rows, classes))
    settings = SplitChannel(
        top=Side(top),
        label_features=label_features,
        shots=int(shots.size > 0),
        epochs=epochs,
        width=width,
        precision="double" if seen["gradients"].dtype.itemsize > 4 else "single",
    )
    threat = SplitThreat(
        n_records=len(labels),
        n_classes=len(classes),
        prior=(1 / len(classes),) * len(classes),
        own_effects=(Unknown(stage="what was released"),) if defended else (),
        run=settings,
        width=width,
        n_training=n,
        nameless=len(classes) - len(np.unique(shots[1])) if shots.size else 0,
    )
    view = SplitView(
        threat=threat,
        embeddings=seen["embeddings"],
        gradients=seen["gradients"],
        step=seen["step"],
        features=seen.get("features", seen["embeddings"])[0],  # sent before the record's own label was ever used
        targets=targets,
        shots=shots,
    )
    return view, labels


def _checked(run: str, arrays: Arrays) -> Arrays:
    """Return arrays of the kinds and shapes that they should have."""
    if missing := [name for name in _NEEDED if name not in arrays]:
        raise InputError(f"{run} has no array {missing[0]!r}; it needs {', '.join(_NEEDED)}.")
    shape = arrays["gradients"].shape
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"{run}: gradients has shape {shape}, expected (rows, entries), none of them 0.")
    wanted = {"embeddings": shape, "gradients": shape, "step": shape[:1], "ids": shape[:1]}
    for name, array in ((name, arrays[name]) for name in _KINDS if name in arrays):
        last = array.shape[-1] if array.shape else 0  # of any length: classes there are, entries of a feature
        expected, kinds = wanted.get(name, (last,) if name == "classes" else (shape[0], max(last, 1))), _KINDS[name]
        if array.shape != expected:
            raise InputError(f"{run}: {name} has shape {array.shape}, expected {expected}: one row a record and step.")
        if array.dtype.kind not in kinds or (kinds == "f" and not float(np.abs(array).max(initial=0)) < _LARGEST):
            told = {"f": f"finite numbers in floating point, below {_LARGEST:g}", "iu": "whole numbers"}
            raise InputError(f"{run}: {name} must be {told.get(kinds, 'whole numbers or text')}.")
    return arrays


def _by_passes(run: str, arrays: Arrays, asked: set[str]) -> Arrays:
    """Return what has rows by pass and record, step -1 where there is none: the most passes that ids ``asked`` have."""
    names, who, times = np.unique(arrays["ids"], return_inverse=True, return_counts=True)
    order = np.lexsort((arrays["step"], who))
    passed = np.arange(times[[str(name) in asked for name in names.tolist()]].max(initial=1))[:, None]
    if passed.size * times.size > _SPARSE * who.size:
        raise InputError(f"{run}: one id has {passed.size} rows, most have {np.median(times):g}. An id is one person.")
    rows = order[np.cumsum(times) - times + np.minimum(passed, times - 1)]
    seen = {name: arrays[name][rows] for name in _ROWS if name in arrays}
    steps = np.unique(seen["step"], return_inverse=True)[1].reshape(rows.shape)
    seen["step"] = np.where(passed < times, steps, -1)
    return seen


def _columns(path: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return labels by their ids: those that were planted, and those with 1 in a column ``known``."""
    columns = columns_of(path, "label", "record")
    if "id" not in columns:
        raise InputError(f"{path} has no column 'id'.")
    marks = columns.get("known", ["0"] * len(columns["id"]))
    if len({*columns["id"]}) < len(marks) or not all(columns["label"]) or not {"0"} <= {*marks} <= {"0", "1"}:
        raise InputError(f"{path}: every id must stand there once, with a label; 'known' must hold 1, or 0 if planted.")
    rows = [*zip(columns["id"], columns["label"], marks, strict=True)]
    return {name: label for name, label, mark in rows if mark == "0"}, {n: k for n, k, mark in rows if mark == "1"}


def _classes(run: str, arrays: Arrays, logits: int, said: set[str]) -> list[str]:
    """Return the names of the classes, in the order of the ``logits`` if there are any."""
    classes = [str(number) for number in range(logits)] if logits else sorted(said)
    numbers = [float(name) for name in said if is_number(name)]
    if "classes" not in arrays and len(set(numbers)) < len(numbers):
        raise InputError(f"{run}: a class is written in two ways, as 1 and 1.0 are. Write every class in one way.")
    if "classes" in arrays:
        classes = [str(name) for name in arrays["classes"].tolist()]
    if len(set(classes)) != len(classes) or len(classes) < 2 or len(classes) != (logits or len(classes)):
        wanted = f"{logits}, one for every logit" if logits else "at least 2"
        raise InputError(f"{run}: there are {len(set(classes))} different classes, expected {wanted}.")
    if not said <= set(classes):
        raise InputError(
            f"{run}: a label is none of its {len(classes)} classes; an array 'classes' names all in order."
        )
    return classes


def _placed(path: str, said: dict[str, str], rows: dict[str, int], classes: list[str]) -> tuple[Labels, Labels]:
    if missing := said.keys() - rows.keys():
        raise InputError(f"{path}: {len(missing)} of {len(said)} ids are not in the run. Write them as its ids are.")
    numbers = {name: number for number, name in enumerate(classes)}
    found = np.array([(rows[name], numbers[label]) for name, label in said.items()], dtype=np.intp).reshape(-1, 2)
    return found[:, 0], found[:, 1]
