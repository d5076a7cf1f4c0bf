"""A host's table as a board keeps it: what names its rows, their labels, and her own names of these two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.documents import csv_text
from labelinf_core.contracts.errors import InputError
from labelinf_data.table import read_rows, usage_column

__all__ = ["Solution"]


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
        rows = (cells for _, cells in body if usage is None or cells[usage].lower() != "ignored")
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
        cells = tuple(data.class_names[label] for label in data.labels.tolist())
        label = column or next(name for name, own in columns.items() if own == cells)
        others = {name: own for name, own in columns.items() if name != label}
        once = [name for name, own in others.items() if len(set(own)) == data.n_records and "" not in own]
        if wrong := [name for name in others if name.lower() == "id" and name not in once]:
            raise InputError(
                f"{table}: column {wrong[0]!r} does not name every row once, and a board needs ids that do."
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
