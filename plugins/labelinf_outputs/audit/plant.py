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
them. A column of **values** (regression) is planted on a grid, whose points stand for classes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import in_order, is_missing, is_number, one_name_each
from labelinf_data.table import columns_of
from labelinf_outputs.audit.seal import Seal

__all__ = ["Planting", "drawn", "plant", "training"]

_RECORD = "record"
_EMPTY = {"na", "n/a", "none", "null", "<na>"}  # what is read as a missing value, however it is meant
_MOST_NUMBERS = 20  # of different numbers that are taken for classes without being asked about


@attrs.frozen(kw_only=True)
class Planting:
    """How much is planted.

    Attributes:
        share: Of the records that become canaries, in (0, 1).
        references: Reference sets, at least 0.
        control: Records trained on openly, at least 0.
        copies: How often each of them stands in the training set, at least 1.
        grid: The values that are planted in a column of numbers; empty where the column holds classes.
    """

    share: float = 0.1
    references: int = 8
    control: int = 20
    copies: int = 10
    grid: tuple[float, ...] = ()


def plant(
    path: str, column: str, folder: Path, how: Planting, rng: np.random.Generator
) -> tuple[Seal, tuple[str, ...]]:
    """Plant labels and write the files; return what was planted, and sentences about what is doubtful of it.

    Args:
        path: CSV file with a header; a column ``record`` or ``id`` has ids, or rows are counted from 0.
        column: The labels' column.
        folder: Where to; it must hold none of the files yet.
        how: How much.
        rng: Of all draws.

    Raises:
        InputError: The file cannot be used as it is, there are too few records or classes, or a file stands there.
    """
    columns = columns_of(path, column, "record")
    labels = columns.pop(column)
    own = next((cells for name, cells in columns.items() if name.lower() == "id" and len({*cells}) == len(cells)), None)
    ids = columns.pop(_RECORD, own or [str(row) for row in range(len(labels))])
    written = (f"reference-{number}.csv" for number in range(1, how.references + 1))
    for name in ("sealed.json", "training.csv", "holdout.csv", "query.csv", *written):
        if os.path.lexists(folder / name):
            raise InputError(f"{folder} holds {name} already, and nothing is written over: name another folder.")
    twins = _twins(columns, len(ids))
    seal, doubts = drawn(ids, labels, how, rng, f"{path}: column {column!r}", twins)
    _write_all(folder, seal, columns, ids, labels, column, how.copies)
    return seal, doubts


def drawn(
    ids: Sequence[str],
    labels: Sequence[str],
    how: Planting,
    rng: np.random.Generator,
    place: str,
    twins: NDArray[np.bool_] | None = None,
) -> tuple[Seal, tuple[str, ...]]:
    """Draw which records become canaries and control, and all their labels; nothing is written.

    Args:
        ids: Of the records, all different.
        labels: Their class names.
        how: How much.
        rng: Of all draws.
        place: How a message names where the labels stand.
        twins: Which records have the features of another one, and come last; None: nothing is known of features.

    Returns:
        What was drawn, and sentences about what is doubtful of it.

    Raises:
        InputError: There are too few records or classes, or a label is missing.
    """
    _check(place, ids, labels)
    classes = tuple(repr(value).removesuffix(".0") for value in how.grid) or _classes(place, labels)
    if how.grid and not all(map(is_number, labels)):
        raise InputError(f"{place} must hold numbers: values on a grid are planted in it.")
    n_canaries = int(how.share * len(ids))
    if n_canaries < 1 or n_canaries + how.control > len(ids):
        raise InputError(
            f"{place}: {len(ids)} records are too few for {n_canaries} canaries and {how.control} records of control."
        )
    order, same = rng.permutation(len(ids)), np.zeros(len(ids), dtype=bool) if twins is None else twins
    chosen = order[np.argsort(same[order], kind="stable")][: n_canaries + how.control]
    # The victim's labels and the references' are rows of one draw: exchangeable, all independent.
    planted = rng.integers(0, len(classes), (how.references + 1, n_canaries))
    seal = Seal(
        classes=classes,
        records=tuple(ids[row] for row in chosen[:n_canaries]),
        labels=tuple(planted[0].tolist()),
        control=tuple(ids[row] for row in chosen[n_canaries:]),
        control_labels=tuple(rng.integers(0, len(classes), how.control).tolist()),
        references=tuple(tuple(row) for row in planted[1:].tolist()),
    )
    rare = () if how.grid else _rare(classes, labels, n_canaries)
    return seal, (*rare, *_same(same, same[chosen[:n_canaries]]))


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


def _twins(features: dict[str, list[str]], n_records: int) -> NDArray[np.bool_]:
    """Return which records have all their features in common with another one."""
    rows = [*zip(*features.values(), strict=True)]
    counts = Counter(rows)
    return np.array([counts[row] > 1 for row in rows] or [False] * n_records)


def _same(twins: NDArray[np.bool_], planted: NDArray[np.bool_]) -> Iterator[str]:
    if twins.any():
        yield (
            f"{twins.sum()} records have the features of another one; {planted.sum()} of them are canaries. What a "
            f"model is told of one, it is told of all"
        )


def _rare(classes: Sequence[str], labels: Sequence[str], n_canaries: int) -> Iterator[str]:
    """Warn of numbers that are many for classes, and of a class of which more is planted than it has records."""
    if len(classes) > _MOST_NUMBERS and all(map(is_number, classes)):
        yield f"{len(classes)} different numbers are taken for classes; values are planted with --grid"
    if empty := [name for name in classes if name.lower() in _EMPTY]:
        yield f"class {empty[0]!r} is no label to pandas, unless it reads with keep_default_na=False"
    count, name = min((labels.count(name), name) for name in classes)
    planted = n_canaries / len(classes)
    if count < planted:
        yield (
            f"class {name!r} has {count} records, and about {planted:.0f} of {n_canaries} planted labels are of it: "
            f"the model learns another class. --share {count * len(classes) / len(labels):.2g} plants as many as it has"
        )


def _check(place: str, ids: Sequence[str], labels: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        raise InputError(f"{place}: {len(ids) - len(set(ids))} ids in column 'record' stand there more than once.")
    if empty := [row for row, label in enumerate(labels, 2) if not label]:
        raise InputError(f"{place} has {len(empty)} empty cells, the first in row {empty[0]}.")
    if missing := [row for row, label in enumerate(labels, 2) if is_missing(label)]:
        raise InputError(f"{place}: {labels[missing[0] - 2]!r} in row {missing[0]} is no class.")


def _classes(place: str, labels: Sequence[str]) -> tuple[str, ...]:
    classes = in_order(labels)
    one_name_each(classes, place)
    counted = classes == tuple(map(str, range(len(classes))))
    if len(classes) > _MOST_NUMBERS and all(map(is_number, classes)) and not counted:
        raise InputError(
            f"{place} holds {len(classes)} different numbers. If they are values, say on which "
            f"grid to plant, as --grid 0:100:8 (8 points); if they are classes, name them by text or 0..K-1."
        )
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
