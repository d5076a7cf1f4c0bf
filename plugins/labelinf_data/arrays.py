"""The one reader of NumPy files, for every room that takes a user's arrays. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import open_regular

__all__ = ["read_arrays"]


def read_arrays(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a NumPy file, by name; the one of an ``.npy`` file has the empty name.

    Raises:
        InputError: It is no such file, or cannot be read.
    """
    try:
        with open_regular(path) as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            return {name: np.asarray(loaded[name]) for name in loaded}
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.strerror:  # numpy's own have none
            raise InputError(f"{path} cannot be read: {error.strerror}.") from error
        written = "numpy.save writes .npy, numpy.savez .npz"
        raise InputError(f"{path} is not a NumPy file of plain numbers or strings; {written}.") from error
