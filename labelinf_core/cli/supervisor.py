"""A command runs in a child of its own: whatever a plugin does to its process, somebody is left to say whose it was.

The command is forked before any plugin is imported, which costs a millisecond. The child notes whose code it is about
to run in a page of shared memory (:mod:`labelinf_core.plugin.watch`). When it dies there, or stays there for too long,
the parent plays the command again with that part lost: a plugin that exits on import is left out of a run as one that
raises is. A command that prints has run all that can be lost before, so that nothing is printed twice.

Where processes cannot be forked the command runs in this one, and only what is raised is survived.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable

from labelinf_core.cli.exits import Exit
from labelinf_core.plugin.apart import death
from labelinf_core.plugin.watch import limit_memory, watch

__all__ = ["supervised"]

_HEAD = struct.Struct("=??dI")  # done, stopped, the end of its time, length of the name
_POLL = 0.05  # seconds between looks at the time
_GRACE = 0.3  # seconds in which a signal to the whole group has reached the child too
_DEAF = 117  # exit status of a child whose streams somebody took
_ASKED = (signal.SIGINT, signal.SIGTERM)  # how a user stops a command
_TRIES = 200  # parts that may be lost before the command is given up


def supervised(command: Callable[[], int]) -> int:
    """Run ``command`` in a child, again without a part that was lost, and return its exit status."""
    if threading.current_thread() is not threading.main_thread():
        return command()
    if not hasattr(os, "fork"):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return command()
    page = _Page()
    for _ in range(_TRIES):
        page.clear()
        sys.stdout.flush()
        sys.stderr.flush()
        ours, theirs = socket.socketpair()  # either end tells the other when it is gone
        signal.pthread_sigmask(signal.SIG_BLOCK, _ASKED)  # until both know what to do then
        child = os.fork()
        if not child:
            ours.close()
            _be_child(command, page, theirs)
        theirs.close()
        with ours:
            status, late = _wait(child, page, ours)
        if page.done:
            return status
        name, how = page.name, f"no answer within {page.limit:g} s" if late else _ended(status)
        if not name or name in watch.lost:
            break
        watch.lost[name] = how
    print(f"labelinf: {name or 'the command'}: {how}", file=sys.stderr)
    return Exit.INCOMPLETE


class _Page:
    """A page of memory that parent and child share."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, 4096)
        self.limit = watch.patience

    def clear(self) -> None:
        self._map[: _HEAD.size] = _HEAD.pack(False, False, float("inf"), 0)

    def tell(self, name: str, endless: bool) -> None:
        """Note whose code runs, and until when it may."""
        text = name.encode("utf-8", "backslashreplace")[:3000]
        self._map[_HEAD.size : _HEAD.size + len(text)] = text
        self._map[4080:4088] = struct.pack("=d", watch.patience)
        end = time.monotonic() + watch.patience if name and not endless else float("inf")
        self._map[: _HEAD.size] = _HEAD.pack(False, self.stopped, end, len(text))

    def finish(self) -> None:
        self._map[: _HEAD.size] = _HEAD.pack(True, self.stopped, float("inf"), 0)

    def stop(self) -> None:
        _, _, end, length = _HEAD.unpack(self._map[: _HEAD.size])
        self._map[: _HEAD.size] = _HEAD.pack(False, True, end, length)

    @property
    def done(self) -> bool:
        return bool(_HEAD.unpack(self._map[: _HEAD.size])[0])

    @property
    def stopped(self) -> bool:
        return bool(_HEAD.unpack(self._map[: _HEAD.size])[1])

    @property
    def late(self) -> bool:
        self.limit = struct.unpack("=d", self._map[4080:4088])[0]
        return time.monotonic() > float(_HEAD.unpack(self._map[: _HEAD.size])[2])

    @property
    def name(self) -> str:
        length = int(_HEAD.unpack(self._map[: _HEAD.size])[3])
        return self._map[_HEAD.size : _HEAD.size + length].decode("utf-8", "replace")


def _be_child(command: Callable[[], int], page: _Page, parent: socket.socket) -> None:
    """Run the command and end, whatever it does."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    limit_memory(2)
    streams = _streams()

    def tell(name: str, endless: bool) -> None:
        if _streams() != streams:
            os._exit(_DEAF)  # while the page still holds whose doing it is
        page.tell(name, endless)

    def forked() -> None:
        watch.tell = lambda name, endless: None
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()

    watch.tell, watch.stopped, watch.watched = tell, lambda: page.stopped, True
    os.register_at_fork(after_in_child=forked)  # what a plugin forks ends with the command
    _heed(page)
    status = int(Exit.INCOMPLETE)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKED)
        status = command()
    except KeyboardInterrupt:
        print("labelinf: stopped", file=sys.stderr)
        status = Exit.INTERRUPTED
    except BaseException as error:  # our own fault: nothing of anybody else's passes the command
        traceback.print_tb(error.__traceback__)
        print(f"{type(error).__name__}, whose text is left out: it could hold labels.", file=sys.stderr)
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        page.finish()
        os._exit(status)


def _heed(page: _Page) -> None:
    """Stop where the user says so; once for a signal that comes to the group and from our parent."""
    since = [0.0]

    def stop(number: int, frame: object) -> None:
        if time.monotonic() - since[0] > 3 * _GRACE:
            since[0] = time.monotonic()
            page.stop()
            raise KeyboardInterrupt

    for number in _heeded():
        signal.signal(number, stop)


def _heeded() -> list[int]:
    """Return the signals that whoever started us did not have us ignore, as a shell has what runs in the background."""
    return [number for number in _ASKED if signal.getsignal(number) != signal.SIG_IGN]


def _streams() -> list[int]:
    """Return what the standard streams are; nothing of one that is closed."""
    found = []
    for number in (1, 2):
        with contextlib.suppress(OSError):
            found.append(os.fstat(number).st_ino)
    return found


def _end_with(parent: socket.socket) -> None:
    """End this process when its parent does, however that ends."""
    with contextlib.suppress(OSError):
        parent.recv(1)
    os._exit(1)


def _wait(child: int, page: _Page, line: socket.socket) -> tuple[int, bool]:
    """Wait for the child and hand on what the user signals; kill it when it takes too long.

    Returns:
        Its exit status, and whether it was too late.
    """
    asked: list[tuple[float, int]] = []
    late = False
    before = {
        number: signal.signal(number, lambda number, frame: asked.append((time.monotonic(), number)))
        for number in _heeded()
    }
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKED)
    try:
        while True:
            gone = bool(select.select([line], [], [], _POLL)[0])
            done, status = os.waitpid(child, 0 if gone and page.done else os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), late
            if asked and time.monotonic() - asked[0][0] > _GRACE:
                number = asked.pop(0)[1]
                if not page.stopped:
                    os.kill(child, number)
            if page.late and not late:
                late = True
                os.kill(child, signal.SIGKILL)
            if gone:
                time.sleep(0.001)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(status: int) -> str:
    return "it closed or replaced the standard streams" if status == _DEAF else f"its process {death(status)}"
