"""Reads what a board holds: submissions, the scores it released, and its private labels, joined by record ids.

* **Submissions**: a folder with a file for each (CSV: an id column and one of predictions, or one for every class; or
  ``.npy``), named as the file is without its ending; one CSV file with a column for each; or one ``.npy`` file with a
  row for each, in the order of the scores. What has no score is not read.
* **Scores**: a CSV file with a column of submissions' names and one of scores, in the order of time; or ``.npy``. A
  score is taken exactly as it is printed; a submission without one was not answered.
* **Labels**: a CSV file. Where its column ``Usage`` says which rows are Public, a score is of those.

Records are joined on the id column, whatever their order; where no file has one, rows are taken to correspond. Records
that have no label were not scored.
"""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import open_regular
from labelinf_data.encode import is_number
from labelinf_data.table import columns_of, read_rows, usage_column
from labelinf_scores.game.solution import first_repeated

__all__ = [
    "Labels",
    "Submission",
    "decimals_of",
    "ids_of",
    "labels_of",
    "natural",
    "read_labels",
    "read_submissions",
    "submissions_of",
]

_NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,40})?|\.\d{1,40})(e[+-]?\d{1,3})?", re.IGNORECASE)
_USUAL = ("label", "labels", "target", "y", "class")
_NO_IDS = (*_USUAL, "usage")
_FEWEST = 2  # classes

Cells = tuple[str, ...]  #: of one record: a prediction, or one for every class


@attrs.frozen(kw_only=True, eq=False)
class Submission:
    """One scored submission.

    Attributes:
        name: What the files call it.
        cells: What it predicts of every record, by id, as it is written.
        columns: Names of the columns that it has beside the ids.
        score: What was released, exactly as it was printed.
        decimals: Decimals that it is rounded to, at least, whether zeros at the end were left out or not.
        has_ids: Whether its file names the records; otherwise they are numbered.
    """

    name: str
    cells: Mapping[str, Cells]
    columns: tuple[str, ...]
    score: Fraction
    decimals: int
    has_ids: bool = True


@attrs.frozen(kw_only=True)
class Labels:
    """Private labels.

    Attributes:
        classes: Their names, in order; of two classes the positive one is the second.
        of: Class of every record, by id.
        has_ids: Whether the file names the records; otherwise they are numbered.
        left_out: Records that are not Public.
    """

    classes: tuple[str, ...]
    of: Mapping[str, int]
    has_ids: bool = True
    left_out: int = 0


@attrs.frozen(kw_only=True)
class _Table:
    """Cells by column; ids are row numbers where there is no id column."""

    path: str
    has_ids: bool
    ids: Sequence[str]
    columns: dict[str, list[str]]

    def predictions(self, names: Sequence[str]) -> _Predictions:
        """Return the cells of some columns, by id."""
        cells = dict(zip(self.ids, zip(*(self.columns[name] for name in names), strict=True), strict=True))
        return _Predictions(columns=tuple(names), cells=cells, has_ids=self.has_ids)


@attrs.frozen(kw_only=True, eq=False)
class _Predictions:
    """A submission, whatever its score."""

    columns: tuple[str, ...]
    cells: dict[str, Cells]
    has_ids: bool


def read_submissions(
    folder: str, scores: str, id_column: str, name_column: str, score_column: str
) -> tuple[Submission, ...]:
    """Return every scored submission, in the order of the scores.

    Args:
        folder: A folder of files, or one CSV or ``.npy`` file.
        scores: The released scores.
        id_column: Name of the id column, where there is one.
        name_column: Column of the scores that names submissions.
        score_column: Its column of scores; may be left out where it is called so, or is the only one of numbers.

    Raises:
        InputError: A file cannot be used as it is, or the files do not fit together.
    """
    released = _scores(scores, name_column, score_column)
    found = _predictions(folder, id_column, list(released))
    missing = [name for name in released if _stem(name) not in found]
    if missing:
        raise InputError(
            f"{scores}: {len(missing)} scored submissions are not in {folder}, the first of them {missing[0]!r}."
        )
    own = (found[_stem(name)] for name in released)
    return tuple(
        Submission(
            name=name, cells=item.cells, columns=item.columns, has_ids=item.has_ids,
            score=Fraction(text), decimals=shown,
        )
        for (name, text), shown, item in zip(released.items(), decimals_of(list(released.values())), own, strict=True)
    )  # fmt: skip


def submissions_of(predictions: Mapping[str, np.ndarray], scores: Sequence[object]) -> tuple[Submission, ...]:
    """Return submissions that are arrays, each with its score.

    Args:
        predictions: By name, in the order of time: numbers or class names, shape ``(n,)``, or ``(n, n_classes)``.
        scores: One for each, as it was printed: ``"0.8230"`` has four decimals, the number .823 three.

    Raises:
        InputError: There are not as many, or a score is no finite number.
    """
    texts = [str(score).strip() for score in scores]
    if len(texts) != len(predictions) or not texts:
        raise InputError(f"{len(texts)} scores for {len(predictions)} submissions; every submission needs one.")
    for name, text in zip(predictions, texts, strict=True):
        if not _NUMBER.fullmatch(text):
            raise InputError(f"the score of submission {name!r} is no finite number.")
    return tuple(
        Submission(name=name, cells=own.cells, columns=own.columns, score=Fraction(text), decimals=shown, has_ids=False)
        for (name, own), text, shown in zip(
            ((name, _numbered(values)) for name, values in predictions.items()), texts, decimals_of(texts), strict=True
        )
    )


def ids_of(labels: str, column: str, id_column: str, submissions: str) -> str:
    """Return what the column of ids is called: as asked for, or else the only other one that both tables have."""
    own = read_rows(labels)[0][1]
    if len(own) > 1 and id_column.lower() not in map(str.lower, own):
        for file in sorted(Path(submissions).glob("*.csv")) or [Path(submissions)]:
            with contextlib.suppress(InputError):  # what has no score may be anything
                sent = read_rows(str(file))[0][1]
                shared = [name for name in own if name in sent and name != column and name.lower() not in _NO_IDS]
                if len(sent) > 1 and len(shared) == 1:
                    return shared[0]
    return id_column


def read_labels(path: str, column: str, id_column: str, positive: str) -> Labels:
    """Return the labels and the names of their classes.

    Args:
        path: A CSV file.
        column: Name of the label column; may be left out when it has a usual name or there is only one.
        id_column: Name of the id column, where there is one.
        positive: Name of class 1 of two; the later of the two in order when empty, as scikit-learn has it.

    Raises:
        InputError: The file cannot be used as it is, or has fewer than two classes.
    """
    table = _table(path, id_column)
    (_, header), *rows = read_rows(path)
    usage = usage_column(header, rows)
    scored = [usage is None or row[usage].lower() == "public" for _, row in rows]
    table.columns.pop("" if usage is None else header[usage], None)
    name = _label_column(table, column)
    known = {record: cell for record, cell, own in zip(table.ids, table.columns[name], scored, strict=True) if own}
    found = labels_of(known, f"{path}: column {name!r}", positive)
    return attrs.evolve(found, has_ids=table.has_ids, left_out=len(rows) - len(known))


def labels_of(known: Mapping[str, str], place: str, positive: str) -> Labels:
    """Return labels of class names by record; their ids count as row numbers.

    Raises:
        InputError: There are fewer than two classes, or the positive one is none of two; ``place`` says where.
    """
    classes = sorted(set(known.values()), key=natural)
    if len(classes) < _FEWEST or "" in classes:
        raise InputError(f"{place} must hold two classes at least, without empty cells.")
    if positive:
        if positive not in classes or len(classes) != _FEWEST:
            raise InputError(f"--positive {positive}: {place} has no such class of two.")
        classes.sort(key=lambda item: item == positive)
    places = {item: at for at, item in enumerate(classes)}
    of = {record: places[cell] for record, cell in known.items()}
    return Labels(classes=tuple(classes), of=of, has_ids=False)


def natural(text: str) -> tuple[float, str]:
    """Return what class names are ordered by: numbers first, as numbers."""
    return (float(text) if is_number(text) else math.inf), text


def _table(path: str, id_column: str) -> _Table:
    columns = columns_of(path, "", "record")
    alike = [name for name in columns if name.lower() == id_column.lower()]
    if id_column not in columns and len(alike) == 1:
        id_column = alike[0]  # Id, ID
    elif id_column not in columns and not next(iter(columns)):
        id_column = ""  # the index that pandas writes has no name
    has_ids, n_rows = id_column in columns, len(next(iter(columns.values())))
    ids = columns.pop(id_column, [str(row) for row in range(n_rows)])
    if len(set(ids)) != len(ids):
        row, _ = read_rows(path)[1 + (first_repeated(ids) or 0)]
        raise InputError(f"{path}: column {id_column!r} has the same id twice, or none: row {row}.")
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


def _stem(name: str) -> str:
    """Return a submission's name without its ending, whichever way its letters and their accents are put together."""
    return unicodedata.normalize("NFC", re.sub(r"\.(csv|npy)$", "", name, flags=re.IGNORECASE))


def _predictions(place: str, id_column: str, order: list[str]) -> dict[str, _Predictions]:
    """Return the submissions that have a score, by their names without endings."""
    path = Path(place)
    if path.suffix == ".npy":
        stack = _array(path)
        if stack.ndim not in (2, 3) or len(stack) != len(order):
            raise InputError(f"{place} has shape {stack.shape}; with {len(order)} scores it needs a row for each.")
        return {_stem(name): _numbered(own) for name, own in zip(order, stack, strict=True)}
    if not path.is_dir():
        table = _table(place, id_column)
        return {_stem(name): table.predictions([name]) for name in table.columns}
    wanted, found = set(map(_stem, order)), dict[str, _Predictions]()
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in (".csv", ".npy")]
    for file in files:
        stem = _stem(file.name)
        if stem in wanted and stem in found:
            raise InputError(f"{place} holds submission {stem!r} twice, as .csv and as .npy; which one was scored?")
        if stem in wanted:
            own = None if file.suffix.lower() == ".npy" else _table(str(file), id_column)
            found[stem] = own.predictions(list(own.columns)) if own else _numbered(_array(file))
    if not files:
        raise InputError(f"{place} holds no .csv and no .npy file; it needs one per submission.")
    return found


def _array(path: Path) -> np.ndarray:
    try:
        with open_regular(path) as file:
            values = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
        raise InputError(f"{path} cannot be read as an array of numbers (numpy.save){why}.") from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf" or not values.size or not values.ndim:
        raise InputError(f"{path} must hold an array of numbers.")
    return values


def _numbered(values: np.ndarray) -> _Predictions:
    """Return the rows of an array: records are numbered, and so are columns."""
    table = values.reshape(len(values), -1)
    kinds = {"b": np.int64, "f": np.float64}
    written = table.astype(kinds.get(table.dtype.kind, table.dtype)).tolist()
    cells = {str(at): tuple(map(str, row)) for at, row in enumerate(written)}
    return _Predictions(columns=tuple(map(str, range(table.shape[1]))), cells=cells, has_ids=False)


def _scores(path: str, name_column: str, score_column: str) -> dict[str, str]:
    if Path(path).suffix == ".npy":
        values = _array(Path(path))
        if values.dtype.kind == "f" and values.dtype != np.float64:
            raise InputError(f"{path} holds {values.dtype}, which is not how scores are printed; give them as CSV.")
        numbers = values.astype(np.float64).ravel().tolist()
        cells: dict[str, str] = {str(at): repr(value) for at, value in enumerate(numbers)}
    else:
        table = _table(path, name_column)
        column = _score_column(table, name_column, score_column)
        cells = {name: text for name, text in zip(table.ids, table.columns[column], strict=True) if text}
    for name, text in cells.items():
        if not _NUMBER.fullmatch(text):
            raise InputError(f"{path}: the score of submission {name!r} is no finite number.")
    if not cells:
        raise InputError(f"{path} holds no score.")
    return cells


def _score_column(table: _Table, name_column: str, wanted: str) -> str:
    if not table.has_ids:
        raise InputError(
            f"{table.path} needs the columns {name_column!r} and {wanted or 'score'!r}; it has "
            f"{', '.join(table.columns)}. Name them with --submission-column and --score-column."
        )
    if (wanted or "score") in table.columns:
        return wanted or "score"
    numbers = [name for name, cells in table.columns.items() if all(_NUMBER.fullmatch(text) for text in cells if text)]
    if not wanted and len(numbers) == 1:
        return numbers[0]
    raise InputError(f"{table.path}: name the column of scores with --score-column; it has {', '.join(table.columns)}.")


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
