"""Plants labels: draws them, seals them, and writes what is to be trained on and what is to be predicted.

Into a folder, from a CSV file with one row per record:

* ``sealed.json``: which records are canaries and what was planted (:mod:`labelinf_outputs.audit.seal`). Private.
* ``training.csv``: every record with its id and its label, the canaries with planted ones. Train on it, mechanism
  included, as ever. A few more records are the **control**: each stands there many times with one label drawn at
  random. A model that learns at all gives these labels back, and if it does not, its predictions do not belong to this
  plan, or the training ignores labels, and "nothing found" means nothing.
* ``query.csv``: canaries and control without labels: predict these, keep the ids.
* ``holdout.csv``: the records without the canaries, labels as they are, for the twin that never met these: what
  planting costs in accuracy.
* ``reference-1.csv``, ...: the training set again with canaries planted anew, for reference models, which never saw the
  labels in question: their predictions must not give those back. A mechanism must draw anew for
  each of them: noise that comes from the same seed tells what it did to the model that is audited.

Planted labels are drawn from the operating system's randomness unless a seed is given: whoever knows the seed knows
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs
import numpy as np

from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_data.table import columns_of
from labelinf_outputs.audit.seal import Seal

__all__ = ["Planting", "drawn", "plant", "training"]

_RECORD = "record"


@attrs.frozen(kw_only=True)
class Planting:
    """How much is planted.

    Attributes:
        share: Of the records that become canaries, in (0, 1).
        references: Reference sets, at least 0.
        control: Records trained on openly, at least 0.
        copies: How often each of them stands in the training set, at least 1.
    """

    share: float = 0.1
    references: int = 8
    control: int = 20
    copies: int = 10


def plant(path: str, column: str, folder: Path, how: Planting, rng: np.random.Generator) -> Seal:
    """Plant labels and write the files.

    Args:
        path: CSV file with a header; a column ``record`` has ids, otherwise rows are counted from 0.
        column: The labels' column.
        folder: Where to; it must not hold a plan yet.
        how: How much.
        rng: Of all draws.

    Raises:
        InputError: The file cannot be used as it is, there are too few records or classes, or a plan stands there.
    """
    columns = columns_of(path, column, "record")
    labels = columns.pop(column)
    ids = columns.pop(_RECORD, [str(row) for row in range(len(labels))])
    if (folder / "sealed.json").exists():
        raise InputError(f"{folder} holds a plan already; planting anew would replace labels that may be trained on.")
    seal = drawn(ids, labels, how, rng, f"{path}: column {column!r}")
    _write_all(folder, seal, columns, ids, labels, column, how.copies)
    return seal


def drawn(ids: Sequence[str], labels: Sequence[str], how: Planting, rng: np.random.Generator, place: str) -> Seal:
    """Draw which records become canaries and control, and all their labels; nothing is written.

    Args:
        ids: Of the records, all different.
        labels: Their class names.
        how: How much.
        rng: Of all draws.
        place: How a message names where the labels stand.

    Raises:
        InputError: There are too few records or classes, or a label is missing.
    """
    classes = _checked(place, ids, labels)
    n_canaries = int(how.share * len(ids))
    if n_canaries < 1 or n_canaries + how.control > len(ids):
        raise InputError(
            f"{place}: {len(ids)} records are too few for {n_canaries} canaries and {how.control} records of control."
        )
    chosen = rng.permutation(len(ids))[: n_canaries + how.control]
    # The victim's labels and the references' are rows of one draw: exchangeable, all independent.
    planted = rng.integers(0, len(classes), (how.references + 1, n_canaries))
    return Seal(
        classes=classes,
        records=tuple(ids[row] for row in chosen[:n_canaries]),
        labels=tuple(planted[0].tolist()),
        control=tuple(ids[row] for row in chosen[n_canaries:]),
        control_labels=tuple(rng.integers(0, len(classes), how.control).tolist()),
        references=tuple(tuple(row) for row in planted[1:].tolist()),
    )


def training(
    seal: Seal, planted: Sequence[int], ids: Sequence[str], labels: Sequence[str], copies: int
) -> tuple[list[int], list[str]]:
    """Return which rows to train on, those of control many times, and the label of every record.

    Args:
        seal: What was drawn.
        planted: Labels of the canaries, as places in its classes: its own, or those of a reference set.
        ids: Of the records.
        labels: Their class names as they were.
        copies: How often each record of control stands there.
    """
    place, mixed = {name: row for row, name in enumerate(ids)}, list(labels)
    for name, label in zip([*seal.records, *seal.control], [*planted, *seal.control_labels], strict=True):
        mixed[place[name]] = seal.classes[label]
    control = [place[name] for name in seal.control]
    return [*range(len(ids)), *np.repeat(control, copies - 1).astype(int).tolist()], mixed


def _checked(place: str, ids: Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
    if len(set(ids)) < len(ids):
        raise InputError(f"{place}: {len(ids) - len(set(ids))} ids in column 'record' stand there more than once.")
    if empty := [row for row, label in enumerate(labels, 2) if not label]:
        raise InputError(f"{place} has {len(empty)} empty cells, the first in row {empty[0]}.")
    classes = tuple(sorted(set(labels), key=lambda name: (not name.isdecimal(), name.zfill(9), name)))
    if not 2 <= len(classes) <= len(labels) // 2:
        raise InputError(
            f"{place} has {len(classes)} different values in {len(labels)} rows; expected at least 2 "
            f"classes, and at most half as many as rows."
        )
    return classes


def _write_all(
    folder: Path,
    seal: Seal,
    features: dict[str, list[str]],
    ids: Sequence[str],
    labels: Sequence[str],
    column: str,
    copies: int,
) -> None:
    rows = [list(cells) for cells in zip(*features.values(), strict=True)] or [[] for _ in ids]
    folder.mkdir(parents=True, exist_ok=True)
    header = [_RECORD, *features]
    for name, planted in (
        ("training.csv", seal.labels),
        *((f"reference-{number}.csv", drawn) for number, drawn in enumerate(seal.references, 1)),
    ):
        order, mixed = training(seal, planted, ids, labels, copies)
        _write(folder / name, [*header, column], ([ids[row], *rows[row], mixed[row]] for row in order))
    held = {*seal.records}
    kept = (row for row, name in enumerate(ids) if name not in held)
    _write(folder / "holdout.csv", [*header, column], ([ids[row], *rows[row], labels[row]] for row in kept))
    asked = held.union(seal.control)
    _write(folder / "query.csv", header, ([name, *rows[row]] for row, name in enumerate(ids) if name in asked))
    seal.write(folder / "sealed.json")


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    path.write_text(csv_text(header, rows), encoding="utf-8", newline="")
