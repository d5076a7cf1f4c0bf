"""The one way to open a file that a user, or a file of a user's, names: a regular file of a bounded size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["MOST_BYTES", "open_regular", "read_regular"]

MOST_BYTES = 1 << 33  #: more than any file that is read in whole may hold
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: str | Path, most: int = MOST_BYTES) -> BinaryIO:
    """Open a regular file to read; a pipe or a device, which may never end, is refused before it is waited for.

    Args:
        path: The file; links are followed.
        most: Bytes that it may hold.

    Raises:
        OSError: It cannot be opened, is no regular file, or is larger; ``strerror`` says which.
    """
    handle = os.open(path, _FLAGS)
    try:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file but a pipe or a device", str(path))
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"it holds {found.st_size} bytes, and at most {most} are read", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return what a regular file holds; arguments and errors as of :func:`open_regular`."""
    with open_regular(path, most) as file:
        return file.read()
