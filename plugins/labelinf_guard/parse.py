"""From the bytes of a submission to its canonical form, without ever seeing a label.

This module cannot import what holds labels: an import contract says so. What is wrong with a file is told in one of
eight constant sentences, with the number of a line at most and never a value.

A file is CSV (with commas, semicolons or tabs), JSON, npy, npz or, with the extra ``parquet``, Parquet. Tables have a
column of ids, as the board calls it, and either a column ``prediction`` or called as the label is (the class, or for
two classes the probability of the second) or a column for every class. JSON is a list of such rows, or maps ids to
predictions. An npz holds ``ids`` and ``predictions``; an npy holds predictions in the order of the sample submission.
Ids may come in any order; each must come exactly once.
"""

from __future__ import annotations

import ast
import enum
import hashlib
import io
import itertools
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_guard.export import stateless
from labelinf_guard.export.stateless import Form, SubmissionError, checked

__all__ = ["Expected", "FileFault", "ParseError", "ParsedSubmission", "parse"]

_KINDS = {"f": 8, "i": 8, "u": 8, "U": 4096, "S": 1024}  # kinds of arrays, and the widest item
_COLUMN = "prediction"


class FileFault(enum.Enum):
    """All that is ever said about a file that cannot be scored."""

    LARGE = "The file is larger than this board takes."
    UNREADABLE = "The file is not CSV, JSON, npy, npz or Parquet that can be read."
    COLUMNS = stateless.COLUMNS
    UNKNOWN = stateless.UNKNOWN
    DUPLICATE = stateless.DUPLICATE
    MISSING = stateless.MISSING
    VALUE = stateless.VALUE
    RANGE = stateless.RANGE


class ParseError(Exception):
    """A file cannot be scored.

    Attributes:
        fault: Which of the eight.
        line: Of the file, from 1, where one is at fault.
    """

    def __init__(self, fault: FileFault, line: int | None = None) -> None:
        self.fault, self.line = fault, line
        super().__init__(fault.value if line is None else f"Line {line}: {fault.value}")


@attrs.frozen(kw_only=True, eq=False)
class Expected:
    """What a submission must look like; all of it is public.

    Attributes:
        form: Of a row.
        ids: Every id, sorted.
        most_bytes: Of a file, and of what it unpacks to.
    """

    form: Form
    ids: tuple[str, ...]
    most_bytes: int = 1 << 26
    places: frozenset[str] = attrs.field(
        init=False, default=attrs.Factory(lambda self: frozenset(self.ids), takes_self=True)
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a submission, as a participant may call them."""
        form = self.form
        one = form.classes_predicted or form.between is not None or len(form.classes) == 2
        return (form.id, form.label) if one else (form.id, *form.classes)


@attrs.frozen(kw_only=True, eq=False)
class ParsedSubmission:
    """A canonical submission.

    Attributes:
        rows: In the order of the sorted ids: classes or values, shape ``(n,)``, or probabilities that sum to 1,
            ``(n, K)``.
    """

    rows: NDArray[Any]

    def digest(self, board: bytes) -> bytes:
        """Return a hash of the rows and of whatever names the board: its metric and the ids it scores."""
        kind = f"{self.rows.dtype.str}{self.rows.shape}".encode()
        return hashlib.sha256(b"\0".join((board, kind, self.rows.tobytes()))).digest()


def parse(data: bytes, expected: Expected) -> ParsedSubmission:
    """Return the canonical form of a file.

    Raises:
        ParseError: It cannot be scored.
    """
    if len(data) > expected.most_bytes:
        raise ParseError(FileFault.LARGE)
    try:
        found = _read(data, expected)
        return found if isinstance(found, ParsedSubmission) else _canonical(*found, expected)
    except ParseError:
        raise
    except SubmissionError as error:
        raise ParseError(FileFault(str(error))) from None
    except Exception as error:  # a reader of files may raise anything, and none of it is told
        raise ParseError(FileFault.UNREADABLE) from error


_Row = tuple[int | None, Sequence[Any]]
_Table = tuple[list[str], Iterable[_Row]]


def _read(data: bytes, expected: Expected) -> _Table | ParsedSubmission:
    if data[:6] == b"\x93NUMPY":
        return _arrays(expected.ids, _array(data), expected)
    if data[:4] == b"PK\x03\x04":
        return _npz(data, expected)
    if data[:4] == b"PAR1":
        return _parquet(data, expected)
    text = data.decode("utf-8-sig")
    if "\0" in text:
        raise ParseError(FileFault.UNREADABLE)
    if text.lstrip()[:1] in ("{", "["):
        return _json(text, expected)
    reader = stateless.cells_of(text)
    rows = ([cell.strip() for cell in cells] for cells in reader if cells)
    return next(rows, []), ((reader.line_num, row) for row in rows)


def _json(text: str, expected: Expected) -> _Table:
    left = itertools.repeat(None, len(expected.ids) + 1)  # objects that there may be

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if next(left, pairs) is pairs:
            raise ParseError(FileFault.UNKNOWN)
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ParseError(FileFault.DUPLICATE)
        return found

    def refuse(word: str) -> float:
        raise ParseError(FileFault.VALUE)

    tree = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    if isinstance(tree, dict):
        wide = expected.form.classes if any(isinstance(value, list) for value in tree.values()) else (_COLUMN,)
        rows = [(None, [name, *(value if isinstance(value, list) else [value])]) for name, value in tree.items()]
        return [expected.form.id, *wide], rows
    header = list(tree[0]) if tree and isinstance(tree[0], dict) else []
    if not all(isinstance(row, dict) and row.keys() == set(header) for row in tree):
        raise ParseError(FileFault.COLUMNS)
    return header, [(None, [row[name] for name in header]) for row in tree]


def _npz(data: bytes, expected: Expected) -> _Table | ParsedSubmission:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sorted(archive.namelist()) != ["ids.npy", "predictions.npy"]:
            raise ParseError(FileFault.COLUMNS)
        ids, rows = (_array(_unpacked(archive, name, expected)) for name in ("ids.npy", "predictions.npy"))
        return _arrays(ids.tolist(), rows, expected)


def _unpacked(archive: zipfile.ZipFile, name: str, expected: Expected) -> bytes:
    with archive.open(name) as member:  # what the archive says of its sizes is not believed
        data = member.read(expected.most_bytes + 1)
    if len(data) > expected.most_bytes:
        raise ParseError(FileFault.LARGE)
    return data


def _array(data: bytes) -> NDArray[Any]:
    """Return the array of an npy file, without pickles; nothing is allocated that is not there."""
    if data[:6] != b"\x93NUMPY" or data[6] not in (1, 2, 3):
        raise ParseError(FileFault.UNREADABLE)
    wide = 2 if data[6] == 1 else 4
    start = 8 + wide
    length = int.from_bytes(data[8:start], "little")
    if length > 4096:
        raise ParseError(FileFault.UNREADABLE)
    header = ast.literal_eval(data[start : start + length].decode("ascii").strip())
    kind, shape, body = np.dtype(header["descr"]), header["shape"], data[start + length :]
    if kind.kind not in _KINDS or kind.itemsize > _KINDS[kind.kind] or not 1 <= len(shape) <= 2:
        raise ParseError(FileFault.VALUE)
    found = np.frombuffer(body, dtype=kind)
    return found.reshape(shape, order="F" if header["fortran_order"] else "C")


def _arrays(ids: Sequence[Any], rows: NDArray[Any], expected: Expected) -> _Table | ParsedSubmission:
    if len(ids) != len(rows) or (rows.ndim == 2 and rows.shape[1] not in (1, len(expected.form.classes))):
        raise ParseError(FileFault.COLUMNS)
    wide = expected.form.classes if rows.ndim == 2 and rows.shape[1] > 1 else (_COLUMN,)
    header, table = [expected.form.id, *wide], rows.reshape(len(rows), -1)
    checked(expected.form, (), header, ())
    found = _at_once(table, expected) if tuple(ids) == expected.ids else None
    names = (name.decode() if isinstance(name, bytes) else str(name) for name in ids)
    return found or (header, ((None, [name, *row.tolist()]) for name, row in zip(names, table, strict=True)))


def _at_once(table: NDArray[Any], expected: Expected) -> ParsedSubmission | None:
    """Return numbers of all ids in order as one array; None where their rows are to be gone through, one by one."""
    if table.dtype.kind not in ("iu" if expected.form.classes_predicted else "fiu") or not np.isfinite(table).all():
        return None
    if expected.form.classes_predicted:
        codes = {name: code for code, name in enumerate(expected.form.classes)}
        values, at = np.unique(table, return_inverse=True)
        known = [codes.get(str(value), -1) for value in values.tolist()]
        return ParsedSubmission(rows=np.array(known, dtype=np.intp)[at.ravel()]) if min(known) >= 0 else None
    numbers = table.astype(np.float64, order="C")  # in which order rows are added up decides a last digit
    if expected.form.between is not None:
        return ParsedSubmission(rows=np.clip(numbers[:, 0], *expected.form.between) + 0.0)
    fit = numbers.min() >= 0 and numbers.max() <= 1 and (numbers.shape[1] == 1 or numbers.max(axis=1).all())
    return ParsedSubmission(rows=_normalised(numbers)) if fit else None


def _parquet(data: bytes, expected: Expected) -> _Table:
    from pyarrow import parquet

    file = parquet.ParquetFile(io.BytesIO(data))
    if sum(file.metadata.row_group(at).total_byte_size for at in range(file.num_row_groups)) > expected.most_bytes:
        raise ParseError(FileFault.LARGE)
    if file.metadata.num_rows > len(expected.ids):
        raise ParseError(FileFault.UNKNOWN)
    table = file.read()
    return list(table.column_names), ((None, list(row.values())) for row in table.to_pylist())


def _canonical(header: list[str], rows: Iterable[_Row], expected: Expected) -> ParsedSubmission:
    at: list[int | None] = [None]  # the line that is read

    def cells() -> Iterator[Sequence[Any]]:
        for at[0], row in rows:
            yield row
        at[0] = None

    try:
        found = checked(expected.form, expected.places, header, cells())
    except SubmissionError as error:
        raise ParseError(FileFault(str(error)), at[0]) from None
    ordered = [found[name] for name in expected.ids]
    if expected.form.classes_predicted:
        return ParsedSubmission(rows=np.array(ordered, dtype=np.intp))
    numbers = np.array(ordered, dtype=np.float64)
    return ParsedSubmission(rows=_normalised(numbers) if expected.form.between is None else numbers[:, 0] + 0.0)


def _normalised(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities that sum to 1, with no negative zero: two files that score alike are alike."""
    if rows.shape[1] == 1:
        rows = np.concatenate([1 - rows, rows], axis=1)
    largest = rows.max(axis=1, keepdims=True)
    scaled = rows / largest  # before they are added, so that tiny ones keep their proportions
    return scaled / scaled.sum(axis=1, keepdims=True) + 0.0
