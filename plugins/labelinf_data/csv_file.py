"""A user's CSV file: one column holds the labels, under any class names; others may hold the records' features.

The separator is a comma, a semicolon or a tab, whichever cuts the first row into most cells. The first row is the
header; only a file of one column may do without, and is taken to when its first row is a number or occurs again.
Rows are counted as a spreadsheet counts them: the first row of the file is row 1. Where a column ``Usage`` says which
rows a board scores (Public) and which it keeps (Private, Ignored), the labels are those of the Public rows.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet, LabelSource
from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import is_missing, is_number, label_set
from labelinf_data.groups import group_numbers, groups_of_file
from labelinf_data.posteriors import with_posteriors
from labelinf_data.table import Row, listed, read_rows, usage_column

__all__ = ["CsvFile"]

_USUAL = ("label", "labels", "target", "y", "class")


@attrs.frozen(kw_only=True)
class CsvFile(LabelSource):
    """One column of a CSV file in UTF-8.

    Attributes:
        path: The file.
        column: Name of the column that holds the labels. May be left out when the file has one column, or one called
            label, labels, target, y or class.
        features: Names of the columns that hold the features, separated by commas; ``*`` for all the others. Only
            channels that train on them need any.
        groups: Name of the column that says which records belong together (one patient, one household), or
            ``FILE.csv:column`` of another file. Without it records are taken for independent of one another.
        posteriors: Names of the columns with the probabilities of the classes, separated by commas, or one column
            alone, as a perfect model would give them; ``FILE.csv:columns`` of another file.
        all_rows: Whether rows count too that a column ``Usage`` calls Private.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv", "")
    example_parameters: ClassVar[dict[str, str]] = {"path": str(Path(__file__).parent / "examples" / "six.csv")}

    path: str = attrs.field(validator=attrs.validators.min_len(1))
    column: str = ""
    features: str = ""
    groups: str = ""
    posteriors: str = ""
    all_rows: bool = False

    @classmethod
    def columns(cls, path: str) -> tuple[str, ...]:
        """Return the names in the header."""
        return tuple(read_rows(path)[0][1])

    def load(self) -> LabelSet:
        """Return the labels.

        Raises:
            InputError: The file or the column cannot be used as it is; the message says what is wrong and where.
        """
        rows = read_rows(self.path)
        header, body = _split(rows, self.column)
        if not body:
            raise InputError(f"{self.path} has a header ({', '.join(header)}) and no rows. Add one row per record.")
        chosen = _choose(self.path, header, self.column, body)
        place = f"{self.path}: column {header[chosen]!r}" if header[chosen] else self.path
        title, body = _scored(self.path, header, body, ("public", "private") if self.all_rows else ("public",))
        _check(self.path, place, body, len(header), chosen)
        features = None
        if self.features:
            columns = _feature_columns(self.path, header, self.features, chosen)
            features = _numbers(self.path, {header[at]: [(row, cells[at]) for row, cells in body] for at in columns})
        labels = [cells[chosen] for _, cells in body]
        groups = _groups(self.path, header, body, self.groups, chosen) if self.groups else None
        found = attrs.evolve(label_set(labels, title=title, place=place), features=features, groups=groups)
        if self.posteriors:
            own = {name: [cells[at] for _, cells in body] for at, name in enumerate(header)}
            found = with_posteriors(found, self.posteriors, own, self.path)
        return found


def _scored(path: str, header: tuple[str, ...], body: list[Row], kept: tuple[str, ...]) -> tuple[str, list[Row]]:
    """Return a title and the rows that a board scores, by their usage.

    Raises:
        InputError: There are none.
    """
    if (usage := usage_column(header, body)) is None:
        return Path(path).name, body
    scored = [row for row in body if len(row[1]) != len(header) or row[1][usage].lower() in kept]
    if not scored:
        raise InputError(
            f"{path}: no row is Public in column {header[usage]!r}. Say Public in the rows that are scored."
        )
    few = "" if len(scored) == len(body) else f", the {len(scored)} of {len(body)} rows that are {kept[-1].title()}"
    return f"{Path(path).name}{few}", scored


def _split(rows: list[Row], column: str) -> tuple[tuple[str, ...], list[Row]]:
    """Return the header (an empty name for a file without) and the rows below it."""
    header = rows[0][1]
    if len(header) == 1 and header[0] != column and not column:
        below = {cells[0] for _, cells in rows[1:]}
        if is_number(header[0]) or header[0] in below:
            return ("",), rows
    return header, rows[1:]


def _choose(path: str, header: tuple[str, ...], column: str, body: list[Row]) -> int:
    """Return the index of the column with the labels."""
    wanted = [name for name in header if name == column] if column else _obvious(header, body)
    if len(wanted) == 1:
        return header.index(wanted[0])
    if not column:
        raise InputError(f"{path} has {len(header)} columns; name the one with the labels, --column. {listed(header)}")
    if wanted:
        raise InputError(f"{path} has {len(wanted)} columns {column!r}. Rename all but one.")
    near = difflib.get_close_matches(column, header, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise InputError(f"{path} has no column {column!r}{hint} {listed(header)}")


def _obvious(header: tuple[str, ...], body: list[Row]) -> list[str]:
    """Return what can be meant: one column alone, a usual name, or of two columns the one that names no row."""
    rest = [at for at, name in enumerate(header) if name.lower() != "usage"]
    usual = [header[at] for at in rest if len(rest) == 1 or header[at].lower() in _USUAL]
    if usual or len(rest) > 2:
        return usual
    return [header[at] for at in rest if len({row[at] for _, row in body if len(row) > at}) <= len(body) / 2]


def _feature_columns(path: str, header: tuple[str, ...], wanted: str, labels: int) -> list[int]:
    """Return the indices of the columns with the features, in the order of the file."""
    others = [at for at in range(len(header)) if at != labels]
    if wanted.strip() == "*":
        chosen = others
    else:
        names = {name.strip() for name in wanted.split(",")}
        chosen = [at for at in others if header[at] in names]
        if missing := names - {header[at] for at in chosen}:
            absent = " or ".join(map(repr, sorted(missing)))
            raise InputError(f"{path} has no feature column {absent}. {listed(header)}")
    if not chosen:
        raise InputError(f"{path} has no column besides the labels; features need at least one.")
    return chosen


def _groups(path: str, header: tuple[str, ...], body: list[Row], wanted: str, labels: int) -> NDArray[np.intp]:
    """Return the number of every record's group, from a column of this file or of another."""
    if wanted not in header and ":" in wanted:
        return groups_of_file(wanted, len(body))
    if header.count(wanted) != 1:
        raise InputError(f"{path} has no column {wanted!r} for the groups. {listed(header)}")
    if header.index(wanted) == labels:
        raise InputError(f"{path}: column {wanted!r} holds the labels; groups are told by another one.")
    values = [cells[header.index(wanted)] for _, cells in body]
    return group_numbers(values, f"{path}: column {wanted!r}", len(body))


def _numbers(path: str, columns: dict[str, list[tuple[int, str]]]) -> NDArray[np.float64]:
    """Return the columns as numbers, shape ``(n_records, n_features)``; all faults at once."""
    wrong = {name: [row for row, cell in cells if not is_number(cell)] for name, cells in columns.items()}
    told = "as features must; encode, fill or leave out the column."
    faults = [f"column {name!r} has no finite number in {_rows(rows)}, {told}" for name, rows in wrong.items() if rows]
    if faults:
        raise InputError(" ".join(f"{path}: {fault}" for fault in faults))
    return np.array([[float(cell) for _, cell in cells] for cells in columns.values()]).T


def _check(path: str, place: str, body: list[Row], width: int, chosen: int) -> None:
    ragged = [number for number, cells in body if len(cells) != width]
    empty = [number for number, cells in body if len(cells) == width and is_missing(cells[chosen])]
    faults = []
    if ragged:
        faults.append(f"{path}: {_rows(ragged)} without the header's {width} cells. Mend or drop them.")
    if empty:
        faults.append(f"{place} has no label in {_rows(empty)}: an empty cell, or nan. Drop them or fill them.")
    if faults:
        raise InputError(" ".join(faults))


def _rows(numbers: list[int]) -> str:
    """Say how many rows there are, and name the first three."""
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"{len(numbers)} rows ({', '.join(map(str, numbers[:3]))}{', ...' * (len(numbers) > 3)})"
