"""The one reader of NumPy files, for every room that takes a user's arrays. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError

__all__ = ["read_arrays"]


def read_arrays(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a NumPy file, by name; the one of an ``.npy`` file has the empty name.

    Raises:
        InputError: It is no such file, or cannot be read.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded as arrays:
            return {name: np.asarray(arrays[name]) for name in arrays}
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        kind = ".npy" if path.endswith(".npy") else ".npz"
        raise InputError(f"{path} is not a NumPy {kind} file that can be read; numpy.savez writes .npz.") from error
