"""Which records belong together: the patient of every sample, the household of every person.

A column says it: one of the labels' own file, or one of another CSV file (``visits.csv:patient``) with one row for
every label, in the same order. Only who shares a group counts, not what a group is called.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.encode import is_missing, one_name_each
from labelinf_data.table import columns_of

__all__ = ["group_numbers", "groups_of_file"]


def group_numbers(values: Sequence[str], place: str, n_records: int) -> NDArray[np.intp]:
    """Number the groups in sorted order of their names.

    Args:
        values: The name of every record's group.
        place: How a message names where they stand.
        n_records: N, the number of labels.

    Raises:
        InputError: A record has no group, one is written in two ways, or there are not as many as labels.
    """
    if len(values) != n_records:
        raise InputError(
            f"{place} names {len(values)} groups for {n_records} labels; every label needs one row, in order."
        )
    if empty := sum(map(is_missing, values)):
        raise InputError(
            f"{place} has no group for {empty} record{'s' if empty > 1 else ''}. Every record needs one; give who "
            f"stands alone a group of its own."
        )
    one_name_each(sorted(set(values)), place)
    return np.unique(np.array(values, dtype=np.str_), return_inverse=True)[1].astype(np.intp)


def groups_of_file(written: str, n_records: int) -> NDArray[np.intp]:
    """Read ``FILE.csv:column``.

    Raises:
        InputError: It does not read so, or the file or column cannot be used as it is.
    """
    path, _, column = written.rpartition(":")
    if not path or not column:
        raise InputError(f"groups {written!r}: expected a column of the labels' own file, or FILE.csv:column.")
    return group_numbers(columns_of(path, column, "label")[column], f"{path}: column {column!r}", n_records)
