"""Strangers' code runs apart: in a copy of this process that hands back plain data and ends.

Whoever plans a run, sums it up or writes it must not have run a stranger's code before: a module that patches NumPy
when it is imported would have a hand in everybody's figures. So what has to be asked of a plugin that does not come
with labelinf (what it provides, how its components are written out, which labels it has) is asked in a child. The child
may patch, exit, die, hang or leave threads behind; here all that arrives is data, made of labelinf's own types alone.

Where processes cannot be forked, and where a worker plays anyway, it is asked in this process.

Example:
    >>> def poison() -> int:
    ...     import math
    ...     math.pi = 3
    ...     return 7
    >>> import math
    >>> apart("plugin example", poison), math.pi > 3
    (7, True)
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from labelinf_core.contracts import errors
from labelinf_core.contracts.gate import own_packages, own_words, unquoted
from labelinf_core.plugin.watch import limit_memory, watch

__all__ = ["GRACE", "answer_of", "apart", "death", "end", "heard", "packed", "plain_data", "read"]

T = TypeVar("T")

_LIBRARIES = frozenset({"numpy", "collections", "datetime", "pathlib"})
_ARRAYS = frozenset({"_reconstruct", "scalar", "_frombuffer"})  # how NumPy writes what it holds
_BUILTINS = frozenset({"frozenset", "set", "bytearray", "complex", "range", "slice", "int", "float", "str", "bool"})
_HEAD = struct.Struct("=Q")  # length of an answer
_FOUND, _RAISED = "found", "raised"
_LOOK = 3600.0  # seconds that one wait may take at most
GRACE = 1.0  #: seconds that a child has to end after its last word


def apart(name: str, ask: Callable[[], T], *, patience: float | None = None, once: bool = True) -> T:
    """Return what ``ask`` answers in a child of this process.

    Args:
        name: Whose code it runs, as a message names it.
        ask: What to run; its answer is made of plain data and labelinf's own types.
        patience: Seconds that it may take; as many as any part of a plugin (``watch.patience``) when omitted.
        once: Whether the name is never asked again once it was lost; not where it names more than one question.

    Raises:
        LabelinfError: ``ask`` raised it, in labelinf's own words; the same kind.
        ComponentError: It raised something else, did not answer in time, ended its process, or answered something that
            is no plain data.
    """
    if watch.worker or not hasattr(os, "fork"):
        with watch.over(name, endless=patience is not None):
            return ask()
    if once and name in watch.lost:
        raise errors.ComponentError(f"{name}: {watch.lost[name]}")
    patience = watch.patience if patience is None else patience
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of ours holds a lock
        child = os.fork()
    if not child:
        os.close(ours)
        _answer(theirs, ask)
    os.close(theirs)
    with contextlib.suppress(OSError):  # it may have ended
        os.setpgid(child, child)  # what it leaves behind ends with it
    try:
        written, late = heard(ours, patience)
        status = end(child, 0.0 if late else GRACE)
    except BaseException:
        end(child, 0.0)
        raise
    finally:
        os.close(ours)
    if late or not written:
        told = f"no answer within {patience:g} s" if late else f"its process {death(status)}"
        if once:  # nobody waits for it twice
            watch.lost[name] = told
        raise errors.ComponentError(f"{name}: {told}")
    answer: T = read(name, written)
    return answer


def plain_data(written: bytes) -> Any:
    """Read what a process wrote in which strangers' code has run: plain data and labelinf's own types, no other.

    Raises:
        pickle.UnpicklingError: It holds something else, or nothing that can be read.
    """
    try:
        return _Plain(io.BytesIO(written)).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # half a message, or fields that a class does not take
        raise pickle.UnpicklingError(type(error).__name__) from error


def packed(data: object) -> bytes:
    """Write what :func:`plain_data` reads."""
    return pickle.dumps(data)


def death(status: int | None) -> str:
    """Say how a process ended, by its exit code."""
    if status is not None and status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with exit code {status}"


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a class by its name in its own module: no function, and nothing that a module merely imports."""
        package = module.partition(".")[0]
        if package in _LIBRARIES | own_packages() or (module == "builtins" and name in _BUILTINS):
            found = super().find_class(module, name)
            home = getattr(found, "__module__", "").partition(".")[0]
            if (isinstance(found, type) and home == package) or (package == "numpy" and name in _ARRAYS):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no plain data")


def _answer(pipe: int, ask: Callable[[], object]) -> NoReturn:
    """Be the child: ask, write the answer and end, whatever happens."""
    process = os.getpid()
    try:
        os.dup2(2, 1)
        limit_memory(2)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        watch.watched = True
        found = answer_of(ask)
        if os.getpid() == process:  # else a copy that a plugin has forked
            with os.fdopen(pipe, "wb") as file:
                file.write(found)
            sys.stderr.flush()
    finally:
        os._exit(0)


def answer_of(ask: Callable[[], object]) -> bytes:
    """Return what a child says, as :func:`heard` and :func:`read` take it: its answer, or what was raised."""
    try:
        found = packed((_FOUND, ask()))
    except BaseException as error:
        found = packed((type(error).__name__, str(error)) if own_words(error) else (_RAISED, unquoted(error)))
    return _HEAD.pack(len(found)) + found


def heard(pipe: int, patience: float) -> tuple[bytes, bool]:
    """Return what the child says, as far as it comes, and whether that took too long.

    Nobody waits for the end of the pipe: a copy that a plugin has forked may hold it open.
    """
    found, late = bytearray(), time.monotonic() + patience
    while (left := late - time.monotonic()) > 0:
        if select.select([pipe], [], [], min(left, _LOOK))[0]:
            part = os.read(pipe, 1 << 20)
            found += part
            head = found[: _HEAD.size]
            if not part or (len(head) == _HEAD.size and len(found) >= _HEAD.size + _HEAD.unpack(head)[0]):
                return bytes(found[_HEAD.size :]), False
    return b"", True


def end(child: int, grace: float) -> int:
    """End the child with all that it has left behind, and return its exit code."""
    late = time.monotonic() + grace
    while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) and time.monotonic() < late:
        time.sleep(0.001)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read(name: str, written: bytes) -> Any:
    """Return the answer of a child that runs ``name``'s code, or raise what it raised, in labelinf's own words."""
    try:
        word, answer = plain_data(written)
    except pickle.UnpicklingError as error:
        raise errors.ComponentError(f"{name}: its answer is no plain data ({error})") from None
    if word == _FOUND:
        return answer
    if word == _RAISED:
        raise errors.ComponentError(f"{name} raised {answer}")
    raise getattr(errors, word)(answer)
