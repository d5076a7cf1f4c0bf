"""Who is about to run somebody's code: so that whoever outlives it can say whose it was, and go on without.

A plugin's module, hook, class or ``load()`` may hang, exit, or take its process with it. Before any of them runs, its
name is reported to whoever watches: the supervisor of a command (:mod:`labelinf_core.cli.supervisor`), which then
plays the command again with that name among the ``lost``. A name that is lost is never run again: it raises, like any
other failure of a plugin, and costs what any other failure would cost.

Under the Python API nobody watches: there a failure is only named, and a user's own function is asked aside
(:mod:`labelinf_core.plugin.aside`).

Example:
    >>> watch = Watch(lost={"bound endless": "no answer within 5 s"})
    >>> with watch.over("bound endless"):
    ...     print("never printed")
    Traceback (most recent call last):
        ...
    labelinf_core.contracts.errors.ComponentError: bound endless: no answer within 5 s
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress

from labelinf_core.contracts.errors import ComponentError, InputError

__all__ = ["MEMORY_VARIABLE", "Watch", "alone", "limit_memory", "memory_limit", "watch"]

MEMORY_VARIABLE = "LABELINF_MEMORY"  #: environment variable: gigabytes that one process may ask for


class Watch:
    """What runs now, and what must not run again.

    Attributes:
        lost: What took its process with it or never came back, and how.
        patience: Seconds that one part of a plugin may take.
        tell: Told the name of what runs, and whether it may take as long as it likes; an empty name for our own code.
        stopped: Whether the user asked to stop; None where nobody can know.
        worker: Whether this process is there to run strangers' code; in any other it runs apart.
        watched: Whether somebody ends this process where it hangs, and outlives it; under the Python API nobody does.
    """

    def __init__(self, lost: dict[str, str] | None = None) -> None:
        self.lost = lost or {}
        self.patience = 120.0
        self.tell: Callable[[str, bool], None] = lambda name, endless: None
        self.stopped: Callable[[], bool] | None = None
        self.worker = self.watched = False
        self._running: list[tuple[str, bool]] = [("", False)]

    @contextmanager
    def over(self, name: str, *, endless: bool = False) -> Iterator[None]:
        """Watch over the code in the block.

        Args:
            name: Whose it is, as a message names it.
            endless: Whether it may take as long as it likes.

        Raises:
            ComponentError: It was lost before, or raised what is meant to end the whole program.
        """
        if name in self.lost:
            raise ComponentError(f"{name}: {self.lost[name]}")
        self._running.append((name, endless))
        self.tell(name, endless)
        try:
            with alone(), redirect_stdout(sys.stderr):  # what is printed there is nobody's report
                yield
        except (Exception, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and (self.stopped is None or self.stopped()):
                raise
            raise ComponentError(f"{name} raised {type(error).__name__}") from error
        finally:
            self._running.pop()
            self.tell(*self._running[-1])

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Give parts of plugins ``seconds`` in the block."""
        before, self.patience = self.patience, seconds
        try:
            yield
        finally:
            self.patience = before


watch = Watch()  #: of this process


@contextmanager
def alone() -> Iterator[None]:
    """End a copy of this process that the block has forked, where it leaves it: it must not go on with our work."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(0)


def memory_limit(shares: int) -> int:
    """Return the bytes that a process may ask for: what ``LABELINF_MEMORY`` says, or its share of this machine.

    Args:
        shares: Processes that share the memory; never less than 2 GB each.

    Raises:
        InputError: The variable holds no number of gigabytes.
    """
    written = os.environ.get(MEMORY_VARIABLE, "")
    if written:
        try:
            limit = float(written) * 2**30
        except ValueError:
            limit = 0.0
        if not 2**28 <= limit < 2**62:
            raise InputError(f"{MEMORY_VARIABLE}={written!r} must be a number of gigabytes, at least 0.25.")
        return int(limit)
    return max(2 << 30, int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / shares))


def limit_memory(shares: int) -> None:
    """Let code that asks for memory without end fail before the machine does, where the system has such a limit.

    Args:
        shares: Processes that share the memory (:func:`memory_limit`).
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        limit = memory_limit(shares)
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (limit, limit))
