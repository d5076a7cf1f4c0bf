"""The lock of a run record: one process writes it, and a second one is told which."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import IO

from labelinf_core.contracts.errors import InputError

__all__ = ["locked"]

_LOCK = "run.lock"


def locked(directory: Path) -> IO[str]:
    """Take the lock of a run; the system gives it back when the process ends, however it ends.

    Raises:
        InputError: Another process has it.
    """
    file = (directory / _LOCK).open("a+", encoding="utf-8")
    try:
        _take(file)
    except OSError:
        file.seek(0)
        owner = file.read().strip() or "another process"
        file.close()
        raise InputError(
            f"--out {directory} is being written by {owner}; labelinf report {directory} shows how far it is."
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}")
    file.flush()
    return file


def _take(file: IO[str]) -> None:
    if os.name == "nt":
        import msvcrt

        file.seek(1 << 20)  # beside the text, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
