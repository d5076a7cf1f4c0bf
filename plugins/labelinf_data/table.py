"""The one reader of CSV files: separators, encodings and quotes, for every room that takes a user's table.

The separator is a comma, a semicolon or a tab, whichever cuts the first row into most cells. Rows are counted as a
spreadsheet counts them: the first row of the file is row 1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_data.encode import is_number

__all__ = ["Row", "columns_of", "listed", "read_rows", "usage_column"]

Row = tuple[int, tuple[str, ...]]  #: its number in the file, its cells: tuples of text cost the collector nothing

_SEPARATORS = ",;\t"
_USAGE = {"public", "private", "ignored"}  # of rows, as hosts of competitions write it


def read_rows(path: str) -> list[Row]:
    """Return the rows of a CSV file in UTF-8, cells stripped of white space.

    A blank line between the rows of a single column is a row with an empty cell; other blank lines are passed over.

    Raises:
        InputError: The file cannot be read, is no text or no CSV, or is empty.
    """
    text = _text(path)
    rows: list[Row] = []
    try:
        for number, cells in enumerate(_reader(text, _separator(text)), 1):
            rows.append((number, tuple([cell.strip() for cell in cells])))
    except csv.Error as error:
        raise InputError(f"{path}: row {len(rows) + 1} is not valid CSV ({error}). Check its quotes.") from error
    filled = [index for index, (_, cells) in enumerate(rows) if cells]
    if not filled:
        raise InputError(f"{path} is empty. It needs one row per record with its label.")
    rows = rows[filled[0] : filled[-1] + 1]
    single = len(rows[0][1]) == 1
    return [(number, cells or ("",)) for number, cells in rows if cells or single]


def columns_of(path: str, needed: str, what: str) -> dict[str, list[str]]:
    """Return the columns of a CSV file with a header, by name.

    Args:
        path: The file.
        needed: A column that must be there; empty when any will do.
        what: What a row of it is, for the message.

    Raises:
        InputError: The file cannot be read, two columns have one name, rows differ in length, or there are none.
    """
    (_, header), *body = read_rows(path)
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{path}: its header names column {twice[0]!r} twice; every column needs a name of its own.")
    if needed and needed not in header:
        raise InputError(f"{path} has no column {needed!r}. {listed(header)}")
    if not body:
        raise InputError(f"{path} has no rows. It needs one row per {what}.")
    for number, cells in body:
        if len(cells) != len(header):
            raise InputError(f"{path}: row {number} has {len(cells)} cells, the header has {len(header)}.")
    return {name: [cells[index] for _, cells in body] for index, name in enumerate(header)}


def listed(header: Sequence[str]) -> str:
    """Say which columns a table has; a first row with a number in it is data, which no message quotes."""
    if any(map(is_number, header)):
        return "Its first row holds numbers, so it seems to have no header; add one."
    return f"Columns are {', '.join(map(repr, header))}."


def usage_column(header: Sequence[str], body: list[Row]) -> int | None:
    """Return the index of the column that says which rows a board scores; None where there is none.

    Raises:
        InputError: It says so of some rows, and something else of others.
    """
    for at in (at for at, name in enumerate(header) if name.lower() == "usage"):
        strange = [line for line, row in body if len(row) > at and row[at].lower() not in _USAGE]
        if 0 < len(strange) < len(body):
            raise InputError(f"column {header[at]!r}, line {strange[0]}: neither Public, Private nor Ignored.")
        if not strange:
            return at
    return None


def _text(path: str) -> str:
    try:
        text = read_regular(path).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}). Save it as CSV in UTF-8.") from error
    if "\0" in text:
        raise InputError(f"{path} is not text (it contains zero bytes). Save it as CSV in UTF-8.")
    return text


def _separator(text: str) -> str:
    def cells(separator: str) -> int:
        try:
            return len(next((row for row in _reader(text, separator) if row), []))
        except csv.Error:
            return 0

    return max(_SEPARATORS, key=cells)


def _reader(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
