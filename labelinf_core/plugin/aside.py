"""A user's own function, asked in a copy of this process that stands ready between calls.

Her scorer may hang, exit or take its process with it. A command is watched by its parent and a worker by the run, and
there it is called as it stands, what it prints thrown away. Under the Python API nobody watches: the process is her
notebook. So the function is called in a copy of it, made at the first call, which keeps what the function keeps between
calls. One that does not answer in time, or ends its copy, is lost under its name; nothing else is.

Example:
    >>> import os
    >>> Aside(name="scorer mine:marks", function=lambda: os._exit(3))()
    Traceback (most recent call last):
        ...
    labelinf_core.contracts.errors.ComponentError: scorer mine:marks: its process ended with exit code 3
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import queue
import signal
import socket
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TextIO

import attrs

from labelinf_core.contracts.errors import ComponentError
from labelinf_core.plugin.apart import GRACE, answer_of, death, end, heard, read
from labelinf_core.plugin.watch import limit_memory, watch

__all__ = ["Aside", "unheard"]


@attrs.define(kw_only=True, eq=False)
class Aside:
    """A function that may do anything to its process; what it answers is plain data.

    Attributes:
        name: Whose code it is, as a message names it.
        function: What is called; it raises labelinf's own errors, or whatever it likes.
    """

    name: str
    function: Callable[..., Any] = attrs.field(repr=False)
    _copy: _Copy | None = attrs.field(default=None, init=False, repr=False)
    _lost: str = attrs.field(default="", init=False, repr=False)

    def __call__(self, *given: Any) -> Any:
        """Return the function's answer.

        Raises:
            LabelinfError: The function raised it, in labelinf's own words; the same kind.
            ComponentError: It raised something else, did not answer in time, or ended its process; now or before.
        """
        if watch.watched or not hasattr(os, "fork"):
            with watch.over(self.name), unheard():
                return self.function(*given)
        if self._lost:
            raise ComponentError(f"{self.name}: {self._lost}")
        if (
            self._copy is None or self._copy.asker != os.getpid()
        ):  # of a shared one, somebody would read another's answers
            self._copy = _Copy(self.function)
        try:
            written, late = self._copy.ask(given, watch.patience)
        except BaseException:  # its answer would be taken for the next one's
            self._copy.end(0.0)
            self._copy = None
            raise
        if written:
            return read(self.name, written)
        how = death(self._copy.end(0.0 if late else GRACE))
        self._lost = f"no answer within {watch.patience:g} s" if late else f"its process {how}"
        raise ComponentError(f"{self.name}: {self._lost}")


@functools.cache
def _nowhere() -> TextIO:
    """Return a stream that stays open: what logs in the block for the first time keeps it."""
    stream = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    atexit.register(stream.close)
    return stream


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Throw away what the block prints, by whatever means: it is handed private labels."""
    nowhere = _nowhere()
    with contextlib.ExitStack() as stack:
        for stream in (1, 2):
            with contextlib.suppress(OSError):  # closed
                kept = os.dup(stream)
                stack.callback(os.close, kept)
                stack.callback(os.dup2, kept, stream)
                os.dup2(nowhere.fileno(), stream)
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        yield


class _Copy:
    """A child that calls a function, and ends with whoever asks.

    Attributes:
        asker: The process that asks.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.asker = os.getpid()
        self._line, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of ours holds a lock
            child = os.fork()
        if not child:
            self._line.close()
            _serve(theirs, function)
        theirs.close()
        with contextlib.suppress(OSError):  # it may have ended
            os.setpgid(child, child)  # what it starts ends with it
        self._child = child
        self._gone = weakref.finalize(self, _ended, self._line, child, self.asker)

    def ask(self, given: tuple[Any, ...], patience: float) -> tuple[bytes, bool]:
        """Return what the child answers, nothing where it has ended, and whether that took too long."""
        with contextlib.suppress(OSError):  # it has ended: noticed where its answer is read
            self._line.sendall(pickle.dumps(given))
        return heard(self._line.fileno(), patience)

    def end(self, grace: float) -> int | None:
        """End the child, and return its exit code."""
        self._gone.detach()
        return _ended(self._line, self._child, self.asker, grace)


def _ended(line: socket.socket, child: int, asker: int, grace: float = 0.0) -> int | None:
    if os.getpid() != asker:  # a copy of whoever asks
        return None
    line.close()
    return end(child, grace)


def _serve(line: socket.socket, function: Callable[..., Any]) -> NoReturn:
    """Be the child: answer what is asked, silently, since it is handed private labels."""
    process = os.getpid()
    try:
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.stdout = sys.stderr = os.fdopen(nowhere, "w")  # a notebook's are other ones
        limit_memory(2)
        watch.watched = True
        asked: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(line, asked), daemon=True).start()
        while os.getpid() == process:  # else a copy that the function has forked
            given = asked.get()
            answer = answer_of(lambda given=given: function(*given))  # type: ignore[misc]
            if os.getpid() == process:
                line.sendall(answer)
    finally:
        os._exit(0)


def _listen(line: socket.socket, asked: queue.SimpleQueue[tuple[Any, ...]]) -> None:
    """Take questions, and end this process when nobody can ask any more: also while it answers."""
    with contextlib.suppress(Exception), line.makefile("rb") as file:
        while True:
            asked.put(pickle.load(file))
    os._exit(0)
