"""What a perfect model would be right on: the mean of every record's largest posterior, from a file of probabilities.

A line holds one record's probabilities of the classes, or one number alone: of two classes that of either, of more
classes that of the likeliest. Only the largest counts, so it does not matter which class is which. The numbers are an
assumption of whoever gives them: a model that is too sure of itself makes what follows too small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import is_number
from labelinf_data.table import columns_of

__all__ = ["with_posteriors"]

_SUM = 1e-3  # by which probabilities that were rounded may miss one


def with_posteriors(found: LabelSet, written: str, own: Mapping[str, Sequence[str]], path: str) -> LabelSet:
    """Return labels with what a perfect model would be right on: the mean of the largest posteriors.

    Args:
        found: The labels.
        written: ``column``, ``column,column,...`` of the labels' own file, or ``FILE.csv:`` and columns of another.
        own: The columns of the labels' own file.
        path: What that file is called.

    Raises:
        InputError: A column is missing, a cell is no probability, or a row does not sum to one.
    """
    n_records, n_classes = found.n_records, found.n_classes
    other, _, names = written.rpartition(":")
    place, columns = (other, columns_of(other, names.split(",")[0], "label")) if other else (path, own)
    wanted = [name.strip() for name in names.split(",")]
    if missing := [name for name in wanted if name not in columns]:
        raise InputError(f"{place} has no column {missing[0]!r} for the posteriors.")
    if len(wanted) not in (1, n_classes):
        raise InputError(
            f"posteriors {written!r} name {len(wanted)} columns; expected one, or one for each of {n_classes} classes."
        )
    cells = [columns[name] for name in wanted]
    if len(cells[0]) != n_records:
        raise InputError(f"{place} has posteriors of {len(cells[0])} records for {n_records} labels, in order.")
    rows = np.array([[float(cell) if is_number(cell) else -1.0 for cell in column] for column in cells]).T
    if ((rows < 0) | (rows > 1)).any():
        raise InputError(f"{place}: posteriors must be numbers from 0 to 1 in every row; some are not.")
    return attrs.evolve(found, perfect=float(_largest(rows, n_classes, place).mean()))


def _largest(rows: NDArray[np.float64], n_classes: int, place: str) -> NDArray[np.float64]:
    if rows.shape[1] > 1:
        if (np.abs(rows.sum(axis=1) - 1) > _SUM).any():
            raise InputError(f"{place}: posteriors must sum to one in every row; some do not.")
        return np.asarray(rows.max(axis=1))
    alone = rows[:, 0]
    if n_classes == 2:
        return np.maximum(alone, 1 - alone)
    if (alone < 1 / n_classes).any():
        raise InputError(f"{place}: the likeliest of {n_classes} classes has a probability of 1/{n_classes} at least.")
    return np.asarray(alone)
