"""The one reader of NumPy files, for every room that takes a user's arrays. Nothing is unpickled."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as numpy_format
from numpy.typing import NDArray

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import open_regular

__all__ = ["read_arrays"]

_HEADERS = {(1, 0): numpy_format.read_array_header_1_0, (2, 0): numpy_format.read_array_header_2_0}


def read_arrays(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a NumPy file, by name; the one of an ``.npy`` file has the empty name.

    Raises:
        InputError: It is no such file, or cannot be read.
    """
    try:
        with open_regular(path) as file:
            _check_sizes(file)
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            return {name: np.asarray(loaded[name]) for name in loaded}
    except Exception as error:  # NumPy, zipfile and zlib raise a dozen types on what is no such file
        large = "it needs more memory than there is" if isinstance(error, MemoryError) else ""
        if why := getattr(error, "strerror", large):  # numpy's own have none
            raise InputError(f"{path} cannot be read: {why}.") from error
        written = "numpy.save writes .npy, numpy.savez .npz"
        raise InputError(f"{path} is not a NumPy file of plain numbers or strings; {written}.") from error


def _check_sizes(file: IO[bytes]) -> None:
    """Refuse, before there is memory for it, an array that is larger than what the file holds of it."""
    parts = [(file, os.fstat(file.fileno()).st_size)]
    if zipfile.is_zipfile(file):
        archive = zipfile.ZipFile(file)
        parts = [(archive.open(each), each.file_size) for each in archive.infolist()]
    file.seek(0)
    for part, size in parts:
        shape, _, kind = _HEADERS[numpy_format.read_magic(part)](part)
        if math.prod(shape) * kind.itemsize > size:
            raise ValueError("a header says more than the file holds")
    file.seek(0)
