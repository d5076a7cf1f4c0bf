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
    file = open(path, "rb", opener=lambda name, _: os.open(name, _FLAGS))  # noqa: SIM115  # whoever asks closes it
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and found.st_size <= most:
        return file
    file.close()
    if stat.S_ISREG(found.st_mode):
        raise OSError(errno.EFBIG, f"it holds {found.st_size} bytes, and at most {most} are read", str(path))
    raise OSError(errno.EINVAL, "it is no regular file but a pipe or a device", str(path))


def read_regular(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return what a regular file holds; arguments and errors as of :func:`open_regular`."""
    with open_regular(path, most) as file:
        return file.read()
