"""Reads what a board holds: submissions, the scores it released, and its private labels, joined by record ids.

* **Submissions**: a folder with a CSV file per submission (an id column and one of predictions; the file's name without
  its ending names the submission), or one CSV file with a column per submission.
* **Scores**: a CSV file with columns ``submission`` and ``score``, in the order of time. A score is taken exactly as it
  is printed.
* **Labels**: a CSV file with two classes.

Records are joined on the id column, whatever their order. Where no file has one, rows are taken to correspond.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.table import columns_of

__all__ = ["Submission", "decimals_of", "read_labels", "read_submissions"]

_NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,40})?|\.\d{1,40})(e[+-]?\d{1,3})?", re.IGNORECASE)
_USUAL = ("label", "labels", "target", "y", "class")


@attrs.frozen(kw_only=True, eq=False)
class Submission:
    """One scored submission.

    Attributes:
        name: What the files call it.
        predictions: Shape ``(n_records,)``, in the order of the ids.
        score: What was released, exactly as it was printed.
        decimals: Decimals that it is rounded to, at least, whether zeros at the end were left out or not.
    """

    name: str
    predictions: NDArray[np.float64]
    score: Fraction
    decimals: int


@attrs.frozen(kw_only=True)
class _Table:
    """Cells by column; ids are row numbers where there is no id column."""

    path: str
    has_ids: bool
    ids: Sequence[str]
    columns: dict[str, list[str]]


def read_submissions(folder: str, scores: str, id_column: str) -> tuple[tuple[str, ...], tuple[Submission, ...]]:
    """Return the ids of the records and every scored submission, in the order of the scores.

    Args:
        folder: A folder of CSV files, or one CSV file.
        scores: The released scores.
        id_column: Name of the id column, where there is one.

    Raises:
        InputError: A file cannot be used as it is, or the files do not fit together.
    """
    predictions = _predictions(folder, id_column)
    released = _scores(scores)
    missing = [name for name in released if name not in predictions]
    if missing:
        raise InputError(
            f"{scores}: {len(missing)} scored submissions are not in {folder}, the first of them {missing[0]!r}."
        )
    ids = tuple(next(iter(predictions.values()))[0])
    submissions = tuple(
        Submission(
            name=name,
            predictions=_joined(ids, *predictions[name], name),
            score=Fraction(text),
            decimals=decimals,
        )
        for (name, text), decimals in zip(released.items(), decimals_of(list(released.values())), strict=True)
    )
    return ids, submissions


def read_labels(
    path: str, column: str, id_column: str, ids: Sequence[str], positive: str
) -> tuple[NDArray[np.intp], tuple[str, str]]:
    """Return the labels, 0 and 1 in the order of ``ids``, and the names of the two classes.

    Args:
        path: A CSV file.
        column: Name of the label column; may be left out when it has a usual name or there is only one.
        id_column: Name of the id column, where there is one.
        ids: The records of the submissions.
        positive: Name of class 1; the later of the two in order when empty, as scikit-learn has it.

    Raises:
        InputError: The file cannot be used as it is, has other records or not two classes.
    """
    table = _table(path, id_column)
    name = _label_column(table, column)
    cells = dict(zip(table.ids, table.columns[name], strict=True))
    if set(cells) != set(ids):
        raise InputError(f"{path} has {len(cells)} records and the submissions {len(ids)}; their ids do not agree.")
    classes = sorted(set(cells.values()), key=_natural)
    if len(classes) != 2 or "" in classes:
        raise InputError(f"{path}: column {name!r} must hold two classes, without empty cells.")
    if positive:
        if positive not in classes:
            raise InputError(f"--positive {positive}: column {name!r} of {path} has no such class.")
        classes.sort(key=lambda item: item == positive)
    return np.array([classes.index(cells[record]) for record in ids], dtype=np.intp), (classes[0], classes[1])


def _natural(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def _table(path: str, id_column: str) -> _Table:
    columns = columns_of(path, "", "record")
    has_ids, n_rows = id_column in columns, len(next(iter(columns.values())))
    ids = columns.pop(id_column, [str(row) for row in range(n_rows)])
    if len(set(ids)) != len(ids):
        raise InputError(f"{path}: column {id_column!r} has the same id twice.")
    if not columns:
        raise InputError(f"{path} needs a column beside the ids.")
    return _Table(path=path, has_ids=has_ids, ids=ids, columns=columns)


def _label_column(table: _Table, wanted: str) -> str:
    if wanted in table.columns:
        return wanted
    usual = [name for name in table.columns if len(table.columns) == 1 or name.lower() in _USUAL]
    if wanted or len(usual) != 1:
        raise InputError(f"{table.path}: name the column of labels with --column; it has {', '.join(table.columns)}.")
    return usual[0]


def _predictions(place: str, id_column: str) -> Mapping[str, tuple[Sequence[str], Sequence[str]]]:
    """Return ids and predictions of every submission, by its name."""
    if not Path(place).is_dir():
        table = _table(place, id_column)
        return {name: (table.ids, cells) for name, cells in table.columns.items()}
    found = {}
    for file in sorted(Path(place).glob("*.csv")):
        table = _table(str(file), id_column)
        if len(table.columns) != 1:
            raise InputError(f"{file} must have one column of predictions beside the ids ({id_column!r}).")
        found[file.stem] = (table.ids, next(iter(table.columns.values())))
    if not found:
        raise InputError(f"{place} holds no .csv file; it needs one per submission.")
    return found


def _scores(path: str) -> dict[str, str]:
    table = _table(path, "submission")
    if not table.has_ids or "score" not in table.columns:
        raise InputError(f"{path} needs the columns 'submission' and 'score'.")
    for name, text in zip(table.ids, table.columns["score"], strict=True):
        if not _NUMBER.fullmatch(text):
            raise InputError(f"{path}: the score of submission {name!r} is no finite number.")
    return dict(zip(table.ids, table.columns["score"], strict=True))


def _joined(ids: Sequence[str], own: Sequence[str], cells: Sequence[str], name: str) -> NDArray[np.float64]:
    values = dict(zip(own, cells, strict=True))
    if set(values) != set(ids):
        raise InputError(f"submission {name!r} has other records than the first one; their ids must agree.")
    try:
        return np.array([float(values[record]) for record in ids])
    except ValueError as error:
        raise InputError(f"submission {name!r} has a prediction that is no number.") from error


def decimals_of(texts: Sequence[str]) -> list[int]:
    """Return how many decimals each of some printed scores is rounded to, at least.

    Of one length, they are those that are shown. Otherwise zeros at the end were left out, of as many decimals
    (``round(x, 6)``) or of as many digits (``%.6g``, which shows small scores to more decimals than large ones): the
    fewer of the two are taken. Below zero where tens or hundreds are rounded, as in ``1.2e+06``.
    """
    shown = [_decimals(text) for text in texts]
    if len(set(shown)) < 2:
        return shown
    first = [_first_digit(text) for text in texts]
    digits = max(place + decimals for place, decimals in zip(first, shown, strict=True) if place is not None)
    return [max(shown) if place is None else min(max(shown), digits - place) for place in first]


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def _first_digit(text: str) -> int | None:
    """Return how many digits there are before the point, less the zeros right after it; None for zero."""
    digits = text.lower().partition("e")[0].lstrip("+-").replace(".", "").lstrip("0")
    return len(digits) - _decimals(text) if digits else None
