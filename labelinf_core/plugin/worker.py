"""Somebody else's code runs in a worker: a process of its own, with a limit of memory and of time a question.

What has to be asked of a plugin that does not come with labelinf, what a user's own function computes, and every trial
of a run is asked of a :class:`Worker`. It may crash, hang or ask for memory without end: that costs the answer, and
whoever asked goes on. What it answers is validated where it is computed; an error comes back as labelinf's own words,
or as its type and place. A plugin is trusted like any package that one installs: one that means harm is not stopped.

Where processes cannot be forked, and within a worker, it is asked in this process.

Example:
    >>> import os
    >>> apart("plugin example", lambda: 3 + 4)
    7
    >>> Aside(name="scorer mine:marks", function=lambda: os._exit(3))()
    Traceback (most recent call last):
        ...
    labelinf_core.contracts.errors.ComponentError: scorer mine:marks: its process ended with exit code 3
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import os
import pickle
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import attrs

from labelinf_core.contracts import doing, errors
from labelinf_core.contracts.gate import own_words, unquoted

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

__all__ = ["MEMORY_VARIABLE", "Aside", "Worker", "alone", "apart", "death", "memory_limit", "unheard", "watch"]

T = TypeVar("T")

MEMORY_VARIABLE = "LABELINF_MEMORY"  #: environment variable: gigabytes that one process may ask for
_FOUND, _RAISED, _SAID, _PART = "found", "raised", "said", "part"
_LOOK = 1.0  # seconds between looks at whether a worker lives: what it started may hold its end of a pipe open
_GRACE = 1.0  # seconds that a worker which has closed its pipe has to end


class Watch:
    """What this process knows of somebody's code that it runs.

    Attributes:
        lost: What ended its worker or never came back, and how; it is not asked again.
        patience: Seconds that one question may take.
        worker: Whether this process is a worker.
        tell: Told the name of what runs; an empty name for our own code.
    """

    def __init__(self) -> None:
        self.lost: dict[str, str] = {}
        self.patience = 120.0
        self.worker = False
        self.tell: Callable[[str], None] = lambda name: None
        self._running = [""]

    @contextlib.contextmanager
    def over(self, name: str) -> Iterator[None]:
        """Run somebody's code in the block.

        Args:
            name: Whose it is, as a message names it.

        Raises:
            ComponentError: It was lost before, or raised what is meant to end the whole program.
        """
        if name in self.lost:
            raise errors.ComponentError(f"{name}: {self.lost[name]}")
        self._running.append(name)
        self.tell(name)
        try:
            with alone(), contextlib.redirect_stdout(sys.stderr):  # what is printed there is nobody's report
                yield
        except (Exception, GeneratorExit):
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self.worker:  # the user's
                raise
            raise errors.ComponentError(f"{name} raised {type(error).__name__}") from error
        finally:
            self._running.pop()
            self.tell(self._running[-1])

    @contextlib.contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Give every question ``seconds`` in the block."""
        before, self.patience = self.patience, seconds
        try:
            yield
        finally:
            self.patience = before


watch = Watch()  #: of this process


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """End a copy of this process that the block has forked, where it leaves it: it must not go on with our work."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(0)


def apart(
    name: str, ask: Callable[[], T], *, patience: float | None = None, once: bool = True, parts: bool = False
) -> T:
    """Return what ``ask`` answers in a worker of its own.

    Args:
        name: Whose code it runs, as a message names it.
        ask: What to run.
        patience: Seconds that it may take; ``watch.patience`` when omitted.
        once: Whether the name is never asked again once it was lost; not where it names more than one question.
        parts: Whether that is what each part may take which runs under a name of its own (:meth:`Watch.over`), and all
            the rest as long as it likes.

    Raises:
        LabelinfError: ``ask`` raised it, in labelinf's own words; the same kind.
        ComponentError: It raised something else, did not answer in time or ended its process, now or before.
    """
    if watch.worker or not hasattr(os, "fork"):
        with watch.over(name):
            return ask()
    if once and name in watch.lost:
        raise errors.ComponentError(f"{name}: {watch.lost[name]}")
    aside = Aside(name=name, function=ask, silent=False, parts=parts)
    try:
        with watch.waiting(watch.patience if patience is None else patience):
            answer: T = aside()
        return answer
    finally:
        aside.end()
        if once and aside.lost:
            watch.lost[name] = aside.lost


@attrs.define(kw_only=True, eq=False)
class Aside:
    """A function that is called in a worker, which starts at the first call and keeps what the function keeps.

    Attributes:
        name: Whose code it is, as a message names it.
        function: What is called; it raises labelinf's own errors, or whatever it likes.
        silent: Whether what it prints is thrown away: it may be handed private labels.
        parts: Whether its time is that of each part which runs under a name of its own.
        lost: How it ended its worker; it is not called again.
    """

    name: str
    function: Callable[..., Any] = attrs.field(repr=False)
    silent: bool = True
    parts: bool = False
    lost: str = attrs.field(default="", init=False, repr=False)
    _worker: Worker | None = attrs.field(default=None, init=False, repr=False)

    def __call__(self, *given: Any) -> Any:
        """Return the function's answer.

        Raises:
            LabelinfError: The function raised it, in labelinf's own words; the same kind.
            ComponentError: It raised something else, did not answer in time or ended its process, now or before.
        """
        if watch.worker or not hasattr(os, "fork"):
            with watch.over(self.name), unheard():
                return self.function(*given)
        if self.lost:
            raise errors.ComponentError(f"{self.name}: {self.lost}")
        if self._worker is None or self._worker.asker != os.getpid():  # of a shared one, others would read our answers
            self._worker = Worker(_answer, self.function, silent=self.silent)
        word, answer = self._asked(self._worker, given)
        if word == _FOUND:
            return answer
        raise (
            errors.ComponentError(f"{self.name} raised {answer}") if word == _RAISED else getattr(errors, word)(answer)
        )

    def _asked(self, worker: Worker, given: tuple[Any, ...]) -> tuple[str, Any]:
        part = self.name
        try:
            worker.say(given)
            late = math.inf if self.parts else time.monotonic() + watch.patience
            while (said := worker.heard(late - time.monotonic()))[0] in (_SAID, _PART):
                if said[0] == _SAID:
                    doing.say(*said[1])
                elif self.parts:
                    part, late = said[1] or self.name, time.monotonic() + watch.patience if said[1] else math.inf
            return str(said[0]), said[1]
        except TimeoutError:
            self.lost = f"no answer within {watch.patience:g} s"
        except EOFError:
            self.lost = f"its process {death(worker.end(_GRACE))}"
        except BaseException:  # its answer would be taken for the next one's
            self.end()
            raise
        self.end()
        raise errors.ComponentError(f"{part}: {self.lost}")

    def end(self) -> None:
        """End the worker; another call begins another one."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None


class Worker:
    """A process that serves whoever started it, and ends with him: all that it starts ends with it.

    Attributes:
        asker: The process that started it.
        pipe: Where its words are heard.
        process: The process itself.
    """

    def __init__(
        self, serve: Callable[..., None], *given: Any, silent: bool = True, shares: int = 2, fresh: bool = False
    ) -> None:
        """Start it.

        Args:
            serve: What it does, called with its end of the pipe and ``given``.
            given: What it is handed.
            silent: Whether what it prints is thrown away; on standard error otherwise.
            shares: Processes that share the memory of this machine.
            fresh: Whether it is no copy of this process: it imports everything anew, and is handed plain data only.
        """
        import multiprocessing

        self.asker = os.getpid()
        context: Any = multiprocessing.get_context("spawn" if fresh or not hasattr(os, "fork") else "fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_begin, args=(self.asker, theirs, serve, given, silent, shares), daemon=True
        )
        _may_have_children()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of ours holds a lock
            self.process.start()
        theirs.close()
        self._gone = weakref.finalize(self, _ended, self.asker, self.pipe, self.process)

    def say(self, words: object) -> None:
        """Send something; that the worker has ended is noticed where it is heard."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(words)

    def heard(self, patience: float) -> Any:
        """Return the next thing that the worker says.

        Raises:
            TimeoutError: It says nothing for ``patience`` seconds.
            EOFError: It has ended.
        """
        from multiprocessing.connection import wait

        late = time.monotonic() + patience
        while not self.pipe.poll():
            left = late - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if self.has_ended and not self.pipe.poll():
                raise EOFError
            wait([self.pipe, self.process.sentinel], min(left, _LOOK))
        try:
            return self.pipe.recv()
        except OSError as error:
            raise EOFError from error

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, whatever it has left behind."""
        return self.process.exitcode is not None

    def end(self, grace: float = 0.0) -> int | None:
        """End it with all that it has left behind.

        Args:
            grace: Seconds that it has to end by itself.

        Returns:
            Its exit code, where it had ended by itself.
        """
        self.process.join(grace)
        code: int | None = self.process.exitcode
        self._gone()
        return code


def death(status: int | None) -> str:
    """Say how a process ended, by its exit code."""
    if status is not None and status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with exit code {status}"


def _ended(asker: int, pipe: Connection, process: BaseProcess) -> None:
    if os.getpid() != asker:  # a copy of whoever asks
        return
    pipe.close()
    if hasattr(os, "killpg") and process.pid:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join(10)


def _may_have_children() -> None:
    """Let this process start others, were it a daemon of somebody's: they end with it anyway."""
    import multiprocessing

    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


def _begin(
    asker: int, pipe: Connection, serve: Callable[..., None], given: tuple[Any, ...], silent: bool, shares: int
) -> None:
    """Be a worker: in a group of its own, with no word on the report's standard output, no life after its asker."""
    try:
        if hasattr(os, "setsid"):
            os.setsid()
            threading.Thread(target=_end_with, args=(asker,), daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:  # as a shell has it in the background
                signal.signal(number, signal.SIG_DFL)
        _may_have_children()
        os.dup2(2, 1)
        if silent:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
        sys.stdout = sys.stderr = os.fdopen(os.dup(2), "w", errors="backslashreplace")  # a notebook's are other ones
        limit_memory(shares)
        if (torch := sys.modules.get("torch")) is not None:  # a copy of a process has none of its threads, and waits
            torch.set_num_threads(1)
        watch.worker = True
        with contextlib.suppress(EOFError, OSError):  # nobody asks any more
            serve(pipe, *given)
        with contextlib.suppress(Exception):
            sys.stderr.flush()
    finally:
        os._exit(0)


def _end_with(asker: int) -> None:
    """End this process, and all that it has started, when whoever asks has ended: also while it answers."""
    while os.getppid() == asker:
        time.sleep(0.1)
    os.killpg(0, signal.SIGKILL)


def _answer(pipe: Connection, function: Callable[..., Any]) -> None:
    """Serve an :class:`Aside`: call its function whenever asked, and hand on how far it is and whose code runs."""
    watch.tell = lambda name: pipe.send((_PART, name))
    while True:
        given = pipe.recv()
        with alone(), doing.heard(lambda *said: pipe.send((_SAID, said))):
            answer = _answered(function, given)
        pipe.send_bytes(answer)


def _answered(function: Callable[..., Any], given: tuple[Any, ...]) -> bytes:
    """Return what a function answers, or what it raised: in our own words, or without what it may quote."""
    try:
        return pickle.dumps((_FOUND, function(*given)))
    except BaseException as error:
        return pickle.dumps((type(error).__name__, str(error)) if own_words(error) else (_RAISED, unquoted(error)))


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
            raise errors.InputError(f"{MEMORY_VARIABLE}={written!r} must be a number of gigabytes, at least 0.25.")
        return int(limit)
    return max(2 << 30, int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / shares))


def limit_memory(shares: int) -> None:
    """Let code that asks for memory without end fail before the machine does, where the system has such a limit.

    Args:
        shares: Processes that share the memory (:func:`memory_limit`).
    """
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        limit = memory_limit(shares)
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (limit, limit))
