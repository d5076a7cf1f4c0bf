"""Reads what an auditor already has: a model's predictions, the planted labels, and reference models.

* **Predictions**: what the model says of every record; see :mod:`labelinf_outputs.audit.predictions`.
* **Canaries**: the sealed file of ``labelinf plant`` (:mod:`labelinf_outputs.audit.seal`), joined on record ids; or,
  for labels that the auditor planted without it, CSV with a header: ``label`` (a class name; 0..K-1 where the
  predictions name none), and if not every record is a canary ``record``: the id where the predictions have a column of
  that name, else the row of the prediction counted from 0. A column ``loss`` with the model's loss on the planted label
  declares that the adversary sees it. A column ``trained`` with the label that the model was trained on, after every
  mechanism, lets the audit say how much of *that* is memorised.
* **References**: with a sealed file, predictions of a model for every reference set. Else an ``.npz`` file with
  ``probabilities`` or ``logits``, shape ``(R, m, K)``, and ``labels``, shape ``(R, m)``: what R models with other
  planted labels say of the same m canaries. ``trained``, of the same shape as the labels, are those they were trained
  on, where a mechanism lies between. Nothing is unpickled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import ABSTAIN
from labelinf_core.contracts.errors import InputError
from labelinf_data.arrays import read_arrays
from labelinf_data.encode import is_missing, is_number
from labelinf_data.table import columns_of
from labelinf_outputs.audit.predictions import Predictions, few_decimals, is_finer, log_softmax, read_predictions
from labelinf_outputs.audit.seal import Seal
from labelinf_outputs.game.output import References, Release
from labelinf_outputs.game.view import LossOracle, Outputs, View

__all__ = [
    "Planted",
    "by_hand",
    "classes_of",
    "like_the_model",
    "read_planted",
    "read_sealed",
    "references_of",
    "release_of",
    "sealed_of",
]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_RECORD = "record"
_LONGEST_ID = 18  # digits that fit into 64 bits


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
        control: What the model shows of the records that were trained on openly, and their labels; None without any.
        seal: Of what ``labelinf plant`` drew, where the labels are that; else empty.
        records: The ids of the canaries, where they have any.
        pooled: Further models of the same mechanism that are audited with this one, each with planted labels of its
            own; their views, references and classes are this one's.
    """

    release: Release
    labels: Labels
    class_names: tuple[str, ...]
    view: View
    references: References | None = None
    trained: Labels | None = None
    control: tuple[Release, Labels] | None = None
    seal: str = ""
    records: tuple[str, ...] = ()
    pooled: tuple[Planted, ...] = ()

    @property
    def models(self) -> tuple[Planted, ...]:
        """All that are audited."""
        return (self, *self.pooled)


def read_planted(
    predictions: str,
    canaries: str,
    references: str | None = None,
    *,
    view: View = View(),  # noqa: B008
) -> Planted:
    """Read and check an audit's files, of labels that the auditor planted.

    Args:
        predictions: File of predictions.
        canaries: CSV file.
        references: NumPy file, if there is one.
        view: Which outputs the predictions are, and how they are rounded; the files say the rest.

    Raises:
        InputError: A file cannot be used as it is; the message says what is wrong and where.
    """
    columns = columns_of(canaries, "label", "planted label")
    said = read_predictions(predictions, view, columns["label"])
    if said.records is not None and "record" in columns:
        rows = _joined(predictions, said.records, columns["record"])
    else:
        rows = _rows(canaries, columns.get("record"), len(columns["label"]), len(said.probabilities))
    known = references_of(references, read_arrays(references), rows, said, view) if references else None
    return by_hand(said, rows, columns, known, view=view, place=canaries)


def by_hand(
    said: Predictions,
    rows: Labels,
    columns: Mapping[str, Sequence[str]],
    known: References | None,
    *,
    view: View,
    place: str,
) -> Planted:
    """Put together what is known of labels that the auditor planted.

    Args:
        said: What the model says.
        rows: Which of its rows each canary is, shape ``(m,)``.
        columns: Of the canaries: ``label``, and ``record``, ``loss`` and ``trained`` where they are known.
        known: What reference models say of the canaries.
        view: Which outputs the predictions are.
        place: How a message names where the canaries stand.

    Raises:
        InputError: A label is none of the model's classes, or a loss is none.
    """
    names, n_canaries = said.classes(place), len(columns["label"])
    losses = [_loss(place, number, text, view) for number, text in enumerate(columns.get("loss", []), 2)]
    view = attrs.evolve(
        view,
        loss=LossOracle.PLANTED if losses else LossOracle.NONE,
        references=0 if known is None else len(known.planted),
    )
    found = Planted(
        release=said.release(rows, np.array(losses) if losses else None),
        labels=classes_of(place, "label", columns["label"], names),
        class_names=names,
        view=view,
        references=known,
        records=tuple(columns.get("record", map(str, range(n_canaries)))),
        trained=classes_of(place, "trained", columns["trained"], names) if "trained" in columns else None,
    )
    return _of_planted_classes(found, place)


def _of_planted_classes(found: Planted, place: str) -> Planted:
    """Leave out the classes that nothing was planted of: only ``labelinf plant`` knows whether they could have been.

    Given which classes came out, labels are uniform over these: with more of them chance would be put too low.
    """
    known = found.references
    drawn = np.unique(found.labels if known is None else np.append(known.planted, found.labels))
    if drawn.size < 2:
        raise InputError(f"{place}: the planted labels hold one class; at least two are needed.")
    if drawn.size == len(found.class_names):
        return found
    at = np.full(len(found.class_names), ABSTAIN)
    at[drawn] = np.arange(drawn.size)
    logs = log_softmax(found.release.log_probabilities[:, drawn])
    if known is not None:
        known = References(
            log_probabilities=log_softmax(known.log_probabilities[..., drawn]),
            planted=at[known.planted],
            trained=at[known.trained],
        )
    return attrs.evolve(
        found,
        release=attrs.evolve(found.release, probabilities=np.exp(logs), log_probabilities=logs),
        labels=at[found.labels],
        class_names=tuple(found.class_names[k] for k in drawn),
        references=known,
        trained=None if found.trained is None else at[found.trained],
    )


def read_sealed(
    predictions: str,
    seal: Seal,
    references: Sequence[str] = (),
    *,
    view: View,
    pool: int = 0,
    features: str | None = None,
) -> Planted:
    """Read and check an audit's files, of labels that ``labelinf plant`` planted.

    Args:
        predictions: File of predictions, with record ids.
        seal: What was planted.
        references: Files of predictions of the models of reference sets 1, 2, ..., with record ids.
        view: Which outputs the predictions are, and how they are rounded.
        pool: How many of the models of ``references``, the last ones, are audited too. They are no references then:
            their planted labels are what is guessed.
        features: File of what whoever sees the predictions knows of the records, ``query.csv`` as a rule: its columns
            of numbers, with record ids.

    Raises:
        InputError: A file cannot be used as it is; the message says what is wrong and where.
    """
    files = [read_predictions(path, view, seal.classes) for path in (predictions, *references)]
    shown = None if features is None else _features(features, seal.records)
    said = list(zip((predictions, *references), files, strict=True))
    return sealed_of(said, seal, view=view, pool=pool, features=shown)


def sealed_of(
    said: Sequence[tuple[str, Predictions]], seal: Seal, *, view: View, pool: int = 0, features: Floats | None = None
) -> Planted:
    """Put together what is known of labels that ``labelinf plant`` planted.

    Args:
        said: What the model says, then the models of reference sets 1, 2, ..., each with its name in messages.
        seal: What was planted.
        view: As for :func:`read_sealed`.
        pool: As there.
        features: What whoever sees the predictions knows of the canaries, shape ``(m, d)``.

    Raises:
        InputError: They do not fit together.
    """
    (predictions, first_said), *references = said
    if len(references) > len(seal.references):
        raise InputError(f"{len(references)} reference files are too many: {len(seal.references)} sets were planted.")
    if pool > len(references):
        raise InputError(f"--pool {pool} must be at most the number of --reference files, {len(references)}.")
    for path, item in references:
        like_the_model(path, first_said, item.decimals)
    victim = release_of(predictions, first_said, seal.classes, seal.records)
    others = [release_of(*item, seal.classes, seal.records) for item in references]
    control = release_of(predictions, first_said, seal.classes, seal.control) if seal.control else None
    kept = len(others) - pool
    drawn = np.array(seal.references, dtype=np.intp).reshape(len(seal.references), len(seal.records))
    known = References(
        log_probabilities=np.array([shown.log_probabilities for shown in others[:kept]]),
        planted=drawn[:kept],
        trained=drawn[:kept],
    )
    first = Planted(
        release=attrs.evolve(victim, features=features),
        labels=np.array(seal.labels, dtype=np.intp),
        class_names=seal.classes,
        view=attrs.evolve(view, references=kept, features=features is not None),
        references=known if kept else None,
        control=None if control is None else (control, np.array(seal.control_labels, dtype=np.intp)),
        seal=seal.digest,
        records=seal.records,
    )
    pooled = (
        attrs.evolve(first, release=attrs.evolve(shown, features=features), labels=labels, control=None)
        for shown, labels in zip(others[kept:], drawn[kept:], strict=False)
    )
    return attrs.evolve(first, pooled=tuple(pooled))


def release_of(path: str, said: Predictions, classes: tuple[str, ...], records: Sequence[str]) -> Release:
    """Return what a model shows of some records, its classes in this order.

    Raises:
        InputError: It has other classes, or lacks a record.
    """
    names = said.classes(path, classes)
    if sorted(names) != sorted(classes):
        raise InputError(f"{path}: its classes must be {', '.join(classes)}.")
    rows, order = _joined(path, said.records, records), [names.index(name) for name in classes]
    return Release(
        probabilities=said.probabilities[rows][:, order], log_probabilities=said.log_probabilities[rows][:, order]
    )


def _features(path: str, records: Sequence[str]) -> Floats:
    columns = columns_of(path, _RECORD, "record")
    rows = _joined(path, columns.pop(_RECORD), records)
    known = {name: cells for name, cells in columns.items() if any(map(is_number, cells))}
    if not known:
        raise InputError(f"{path} must have a column of numbers beside 'record'.")
    for name, cells in known.items():
        if odd := [row for row, cell in enumerate(cells, 2) if not is_number(cell)]:
            raise InputError(f"{path}: row {odd[0]}: {name!r} must be a finite number, as elsewhere in its column.")
    return np.array([*known.values()], dtype=np.float64).T[rows]


def _joined(path: str, ids: Sequence[str] | NDArray[np.str_] | None, wanted: Sequence[str]) -> Labels:
    """Return the row of every wanted record.

    Raises:
        InputError: There are no ids, one stands there or is wanted twice, or a wanted one is missing.
    """
    if ids is None:
        raise InputError(f"{path} has no column 'record': predictions are joined with what was planted on its ids.")
    place = {str(name): row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        raise InputError(f"{path}: {len(ids) - len(place)} record ids stand there more than once.")
    if len(set(wanted)) < len(wanted):
        raise InputError(
            f"{path} is joined with canaries of which {len(wanted) - len(set(wanted))} stand there more than once: a "
            f"label that counts twice proves too much."
        )
    if missing := [name for name in wanted if name not in place]:
        short = missing[0].lstrip("0") in place
        hint = " (without its zeros it is there: read ids as text)" if short else ""
        raise InputError(
            f"{path} lacks {len(missing)} of {len(wanted)} records, the first is {missing[0][:40]!r}{hint}."
        )
    return np.array([place[name] for name in wanted], dtype=np.intp)


def _rows(path: str, written: Sequence[str] | None, n_canaries: int, n_records: int) -> Labels:
    if written is None:
        if n_canaries != n_records:
            raise InputError(
                f"{path} has {n_canaries} canaries for {n_records} predictions; a column 'record' must say which row "
                f"of the predictions each belongs to, counted from 0."
            )
        return np.arange(n_records)
    for number, text in enumerate(written, 2):
        whole = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID
        if not whole or int(text) >= n_records:
            raise InputError(f"{path}: row {number}: record must be a whole number in 0..{n_records - 1}.")
    rows = np.array([int(text) for text in written], dtype=np.intp)
    values, counts = np.unique(rows, return_counts=True)
    if counts.max() > 1:
        raise InputError(f"{path}: record {values[counts.argmax()]} stands there {counts.max()} times, each must once.")
    return rows


def classes_of(path: str, column: str, written: Sequence[str], names: tuple[str, ...]) -> Labels:
    """Return class names as places in ``names``.

    Raises:
        InputError: One is missing or is no class.
    """
    place = {name: index for index, name in enumerate(names)}
    for number, text in enumerate(written, 2):
        if is_missing(text) or text not in place:
            raise InputError(f"{path}: row {number}: {column} must be one of {', '.join(names)}.")
    return np.array([place[text] for text in written], dtype=np.intp)


def _loss(path: str, number: int, text: str, view: View) -> float:
    """Return a loss; that of a class shown as impossible is infinite, and counts as that of the least shown."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise InputError(f"{path}: row {number}: loss must be a number that is not negative, or inf.")
    return -math.log(view.smallest) if math.isinf(value) else value


def like_the_model(path: str, victim: Predictions, decimals: int | None) -> None:
    """Refuse references that say more than the model does: what is not shown of the model tells nothing of it.

    Raises:
        InputError: They have more decimals.
    """
    if victim.decimals is not None and (decimals is None or decimals > victim.decimals):
        raise InputError(
            f"{path}: the references have more decimals than the model, whose probabilities have {victim.decimals}: "
            f"round all of them alike, and say --shows probabilities:{victim.decimals}."
        )


def references_of(
    path: str, given: Mapping[str, NDArray[Any]], rows: Labels, victim: Predictions, view: View
) -> References:
    """Return reference models from arrays, as those of a file.

    Raises:
        InputError: They do not fit what the model shows.
    """
    shape = victim.probabilities.shape
    arrays = {name: _of_canaries(array, rows, shape[0]) for name, array in given.items()}
    kind = "logits" if "logits" in arrays else "probabilities"
    for name in (kind, "labels"):
        if name not in arrays:
            raise InputError(f"{path} has no array {name!r}; it needs 'probabilities' and 'labels'.")
    said, labels = arrays[kind], arrays["labels"]
    wanted = (*said.shape[:1], rows.size, shape[1])
    if said.shape != wanted or labels.shape != wanted[:2] or said.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: {kind} {said.shape} and labels {labels.shape} must have shapes "
            f"(R, {rows.size}, {shape[1]}) and (R, {rows.size}): R models, {rows.size} canaries, {shape[1]} classes."
        )
    if kind == "probabilities" and not ((said >= 0) & (said <= 1)).all():
        raise InputError(f"{path}: probabilities must lie in [0, 1].")
    if not np.isfinite(said).all():
        raise InputError(f"{path}: logits must be finite numbers.")
    if (view.resolution and (kind == "logits" or is_finer(said, view.resolution).any())) or (
        view.outputs is Outputs.TOP_ONE and not np.isin(said, (0, 1)).all()
    ):
        raise InputError(
            f"{path}: the references must show what the model shows ({view}), or they are no models of its pipeline."
        )
    whole = said.astype(np.float64)
    if kind == "probabilities" and not np.isin(whole, (0, 1)).all():
        like_the_model(path, victim, few_decimals(whole.reshape(-1, shape[1])))
    return References(
        log_probabilities=log_softmax(whole) if kind == "logits" else np.log(np.maximum(whole, view.smallest)),
        planted=_drawn(path, "labels", labels, victim.class_names),
        trained=_drawn(path, "trained", arrays.get("trained", labels), victim.class_names, labels.shape),
    )


def _of_canaries(array: NDArray[Any], rows: Labels, n_records: int) -> NDArray[Any]:
    """Return what an array says of the canaries, where it has a column for every record."""
    every = array.ndim > 1 and array.shape[1] == n_records != rows.size
    return array[:, rows] if every else array


def _drawn(
    path: str, name: str, labels: NDArray[Any], classes: tuple[str, ...], shape: tuple[int, ...] | None = None
) -> Labels:
    if shape is not None and labels.shape != shape:
        raise InputError(f"{path}: {name} {labels.shape} must have the shape of labels, {shape}.")
    if labels.dtype.kind in "iuU":
        texts, inverse = np.unique(labels.astype(np.str_), return_inverse=True)
        if {*texts.tolist()} <= {*classes}:  # numbers may be names as well
            known = [classes.index(text) for text in texts.tolist()]
            labels = np.array(known, dtype=np.intp)[inverse].reshape(labels.shape)
    if labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < len(classes))).all():
        raise InputError(f"{path}: {name} must be whole numbers in 0..{len(classes) - 1}, or names of the classes.")
    return labels.astype(np.intp)
