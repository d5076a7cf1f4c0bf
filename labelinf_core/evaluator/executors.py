"""Where tasks are performed: in this process, or in worker processes.

Workers are started fresh (``spawn``), so that they are the same on every platform, and build every component from its
spec through a host of their own that blocks the same plugins. A worker that hangs past the time limit is killed and
one that dies is replaced; the task says what happened and the run goes on.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from types import TracebackType
from typing import Protocol

import attrs
from pebble import ProcessExpired, ProcessPool

from labelinf_core.evaluator.cells import Cell
from labelinf_core.evaluator.play import Bench
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder

__all__ = ["Executor", "Imply", "InProcess", "Play", "Processes", "Task"]

_BENCH: Bench | None = None  # of this worker process


@attrs.frozen(kw_only=True)
class Imply:
    """Say what is known of a cell before it is played."""

    cell: Cell

    def perform(self, bench: Bench) -> Implied:
        """Do it."""
        return bench.imply(self.cell)

    def failed(self, status: Status, message: str) -> Implied:
        """Return what to keep when the worker hung or died."""
        return Implied(status=status, message=message)


@attrs.frozen(kw_only=True)
class Play:
    """Play one trial of a cell."""

    cell: Cell
    seed: int
    trial: int

    def perform(self, bench: Bench) -> Trial:
        """Do it."""
        return bench.play(self.cell, self.seed, self.trial)

    def failed(self, status: Status, message: str) -> Trial:
        """Return what to keep when the worker hung or died."""
        return Trial(status=status, message=message)


Task = Imply | Play


class Executor(Protocol):
    """Performs tasks in any order."""

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks``, drawn as they are needed, and yield each with its result as it ends."""


@attrs.define
class InProcess:
    """Performs tasks one after another in this process: no time limit, and a crash takes everything with it."""

    bench: Bench

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks`` in order."""
        for task in tasks:
            yield task, task.perform(self.bench)


@attrs.define
class Processes:
    """Performs tasks in worker processes. A context manager: leaving it ends the workers.

    Attributes:
        workers: How many.
        blocked: Plugins that must not be imported.
        timeout: Seconds that one task may take; None for no limit.
    """

    workers: int
    blocked: frozenset[str] = frozenset()
    timeout: float | None = None
    _pool: ProcessPool = attrs.field(init=False, repr=False)

    @_pool.default
    def _make_pool(self) -> ProcessPool:
        context = multiprocessing.get_context("spawn")
        return ProcessPool(self.workers, initializer=_start_worker, initargs=(self.blocked,), context=context)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks``, keeping few in waiting so that a cell given up costs little."""
        waiting: dict[Future[Implied | Trial], Task] = {}
        for task in tasks:
            waiting[self._pool.schedule(_perform, args=(task,), timeout=self.timeout)] = task
            if len(waiting) > self.workers:
                yield from self._ended(waiting)
        while waiting:
            yield from self._ended(waiting)

    def _ended(self, waiting: dict[Future[Implied | Trial], Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            task = waiting.pop(future)
            yield task, self._result(future, task)

    def _result(self, future: Future[Implied | Trial], task: Task) -> Implied | Trial:
        try:
            return future.result()
        except TimeoutError:
            return task.failed(Status.TIMEOUT, f"no result within {self.timeout:g} s")
        except ProcessExpired as error:
            return task.failed(Status.CRASHED, f"its process {_death(error.exitcode)}")


def _start_worker(blocked: frozenset[str]) -> None:
    """Prepare a worker: its own host, no word on the report's standard output, no life after its parent."""
    global _BENCH
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    import sklearn.metrics  # noqa: F401  # the slowest import must not count against a trial's time limit

    threading.Thread(target=_end_with_parent, daemon=True).start()
    _BENCH = Bench(builder=Builder(Host.load(blocked=blocked)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _perform(task: Task) -> Implied | Trial:
    if _BENCH is None:
        raise RuntimeError("this process was not prepared as a worker")
    return task.perform(_BENCH)


def _death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"was killed by {signal.Signals(-exitcode).name}"
    return f"ended with exit code {exitcode}"
