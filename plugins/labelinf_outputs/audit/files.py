"""Reads files that others wrote, each fault a sentence that quotes no content of theirs."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_data.table import read_rows

__all__ = ["columns_of", "read_arrays"]


def columns_of(path: str, needed: str, what: str) -> dict[str, list[str]]:
    """Return the columns of a CSV file with a header, by name.

    Args:
        path: The file.
        needed: A column that must be there.
        what: What a row of it is, for the message.

    Raises:
        InputError: The file cannot be read, two columns have one name, rows differ in length, or there are none.
    """
    (_, header), *body = read_rows(path)
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{path}: its header names column {twice[0]!r} twice; every column needs a name of its own.")
    if needed not in header:
        raise InputError(f"{path} has no column {needed!r}. Columns are {', '.join(map(repr, header))}.")
    if not body:
        raise InputError(f"{path} has no rows. It needs one row per {what}.")
    for number, cells in body:
        if len(cells) != len(header):
            raise InputError(f"{path}: row {number} has {len(cells)} cells, the header has {len(header)}.")
    return {name: [cells[index] for _, cells in body] for index, name in enumerate(header)}


def read_arrays(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a NumPy file, by name; the one of an ``.npy`` file has the empty name. Nothing is unpickled.

    Raises:
        InputError: It is no such file, or cannot be read.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded as arrays:
            return {name: np.asarray(arrays[name]) for name in arrays}
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        kind = ".npy" if path.endswith(".npy") else ".npz"
        raise InputError(f"{path} is not a NumPy {kind} file that can be read; numpy.savez writes .npz.") from error
