"""A host's table as a board keeps it: what names its rows, their labels, and her own names of these two columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import is_number
from labelinf_data.table import read_rows, usage_column

__all__ = ["Solution", "first_repeated"]

_ID = re.compile(r"(?i:.*[\W_]id)|.*[a-z0-9]I[dD]")  # image_id, Patient ID, rowId; not paid


@attrs.frozen(kw_only=True)
class Solution:
    """The rows of a table that a board scores or seals.

    Attributes:
        key: What the column is called that names the rows.
        label: What that of the labels is called.
        ids: What names every row.
        columns: All columns, by name; none of what is no CSV file.
        usage: The column that said which rows are public, of which a board takes no notice; empty: there is none.
    """

    key: str = "id"
    label: str = "label"
    ids: tuple[str, ...]
    columns: Mapping[str, Sequence[str]] = attrs.field(factory=dict, repr=False)
    usage: str = ""

    @classmethod
    def read(cls, table: str, column: str, data: LabelSet) -> Solution:
        """Read a table.

        Args:
            table: The file.
            column: Its column of labels; empty: the one that holds them.
            data: All labels that are not ignored.

        Raises:
            InputError: Several columns have a name of their own for every row; whoever takes a measurement for ids
                refuses what honest teams send.
        """
        numbers = tuple(map(str, range(data.n_records)))
        if Path(table).suffix.lower() != ".csv" or len(read_rows(table)[0][1]) == 1:
            return cls(ids=numbers)
        (_, header), *body = read_rows(table)
        usage = usage_column(header, body)
        rows = [row for row in body if usage is None or row[1][usage].lower() != "ignored"]
        columns = dict(zip(header, zip(*(cells for _, cells in rows), strict=True), strict=True))
        cells = tuple(data.class_names[label] for label in data.labels.tolist())
        label = column or next(name for name, own in columns.items() if own == cells)
        others = {name: own for name, own in columns.items() if name != label}
        place = {name: first_repeated(own) for name, own in others.items()}
        once = [name for name, at in place.items() if at is None]
        text = [name for name in once if others[name][0].isdigit() or not is_number(others[name][0])]  # no measurements
        meant = [name for name in others if name.lower() == "id" or (not text and _ID.fullmatch(name))]
        if wrong := [(name, rows[at][0]) for name, at in place.items() if at is not None and name in meant]:
            raise InputError(
                f"{table}: column {wrong[0][0]!r} does not name every row once (row {wrong[0][1]} is empty, or named "
                "as one before it), and a board needs ids that do."
            )
        named = [name for name in once if name.lower() == "id"] or once
        if len(named) > 1:
            raise InputError(f"{table}: columns {' and '.join(map(repr, named))} may be the ids; call one of them id.")
        return cls(
            key=named[0] if named else "id",
            label=label,
            ids=others[named[0]] if named else numbers,
            columns=columns,
            usage="" if usage is None else header[usage],
        )

    def without_labels(self, kept: tuple[str, ...], label: str) -> str:
        """Return some columns as a CSV file, sorted by ids, every row with the same label, and public."""
        told, order = {self.label: label, self.usage: "Public"}, sorted(range(len(self.ids)), key=self.ids.__getitem__)
        return csv_text(kept, ([told.get(name, self.columns[name][at]) for name in kept] for at in order))


def first_repeated(cells: Sequence[str]) -> int | None:
    """Return the place of the first cell that is empty or stood before; None where there is none."""
    first = dict(zip(reversed(cells), range(len(cells) - 1, -1, -1), strict=True))
    return next((at for at, cell in enumerate(cells) if not cell or first[cell] < at), None)
