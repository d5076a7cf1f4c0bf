"""Where tasks are performed: in this process, or in worker processes.

Workers are copies of a fresh process that has imported numerical libraries and nothing of a stranger's, or fresh ones
themselves where processes cannot be forked. They build every component from its spec through the host's own list, and
import of a plugin only what a cell needs; what they answer is read as plain data. Each leads a process group of its
own and has a limit of memory where the system knows one. A worker that hangs past the time limit is killed with its
children, one that dies is noticed at once, and either is replaced: the task at which it was says what happened, the
rest of its batch goes to another worker. A worker that ran a stranger's component plays no cell without that component,
so that what a component does to its process cannot touch its neighbours, were they of the same plugin.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Protocol

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.evaluator.play import Bench
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.tasks import Imply, Play, Task, groups, needs
from labelinf_core.evaluator.turns import Turns
from labelinf_core.plugin.apart import death, packed, plain_data
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.markers import PROJECT
from labelinf_core.plugin.watch import limit_memory, watch
from labelinf_core.specs import Builder

__all__ = ["Executor", "InProcess", "Processes"]

_BATCH = 32  # tasks that travel together, unless more belong together, and
_SECONDS = 0.05  # how long a batch should take
_SLOWEST = "sklearn.metrics"  # of what is imported by games
_START = 120.0  # seconds that a worker may take to start


class Executor(Protocol):
    """Performs tasks in any order."""

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks``, drawn as they are needed, and yield each with its result as it ends."""


@attrs.define
class InProcess:
    """Performs tasks one after another in this process, where a crash takes everything with it.

    Attributes:
        bench: Where they are played.
        strangers: Who performs those that run strangers' code; None where no other process can be had.
    """

    bench: Bench
    strangers: Executor | None = None

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks`` in order, or nearly so where strangers' follow one another."""
        for strange, group in itertools.groupby(tasks, lambda task: bool(needs(task) - {PROJECT})):
            if strange and self.strangers is not None:
                yield from self.strangers.perform(group)
            else:
                yield from ((task, task.perform(self.bench)) for task in group)


@attrs.define
class _Worker:
    """A worker process as its parent sees it."""

    process: BaseProcess
    pipe: Connection
    deadline: float
    touched: frozenset[str] = frozenset()
    known: set[object] = attrs.field(factory=set)
    holds: set[str] = attrs.field(factory=set)
    job: deque[Task] = attrs.field(factory=deque)
    ready: bool = False
    doing: str = ""

    def give(self, tasks: list[Task], limit: float | None, labels: Mapping[str, LabelSet]) -> None:
        """Send a batch, and the labels that it is played on where the worker does not hold them yet."""
        new = {task.cell.content for task in tasks} & labels.keys() - self.holds
        self.holds |= new
        self.job.extend(tasks)
        self.touched |= needs(tasks[0])
        self.known.update(map(_game, tasks))
        if self.ready:
            self.deadline = _deadline(limit)
        with contextlib.suppress(OSError):  # it has died: noticed where results are read
            self.pipe.send((tasks, {content: labels[content] for content in new}))

    def end(self) -> int | None:
        """Kill the process with its children, and return how it had ended, if it had."""
        code = self.process.exitcode
        if hasattr(os, "killpg") and self.process.pid:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join(10)
        self.pipe.close()
        return code


@attrs.define
class Processes:
    """Performs tasks in worker processes. A context manager: leaving it ends the workers.

    Attributes:
        workers: How many.
        host: What is provided by whom; nobody's hooks.
        timeout: Seconds that one task may take; None for no limit.
        labels: Label sets by their content, sent to every worker that plays on them, once.
        modules: What is imported once for all workers, where they are copies of one process; none of a stranger's.
        copies: Whether they are copies of this very process, which know what no module holds: classes of a notebook.
    """

    workers: int
    host: Host = attrs.field(repr=False)
    timeout: float | None = None
    labels: Mapping[str, LabelSet] = attrs.field(factory=dict, repr=False)
    modules: tuple[str, ...] = ()
    copies: bool = False
    _pool: list[_Worker] = attrs.field(factory=list, init=False, repr=False)
    _mean: float = attrs.field(default=1.0, init=False, repr=False)
    _took: dict[tuple[type[Task], str], float] = attrs.field(factory=dict, init=False, repr=False)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._pool:
            self._pool.pop().end()

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks``, drawing few ahead so that a cell given up costs little."""
        turns: Turns[Task] = Turns(source=groups(tasks), key=_game, alike=_alike, weight=self._weight)
        try:
            while True:
                for worker in list(self._free()):
                    if batch := self._batch(worker, turns):
                        self._fit(worker, needs(batch[0])).give(batch, self.timeout, self.labels)
                if not any(worker.job for worker in self._pool):
                    return
                yield from self._collect(turns)
        finally:  # whoever asked may not want the rest
            for worker in [worker for worker in self._pool if worker.job]:
                self._drop(worker)

    def _free(self) -> Iterator[_Worker | None]:
        """Yield the workers that have nothing to do, and None for each that may still be started."""
        idle = [worker for worker in self._pool if not worker.job]
        yield from idle
        yield from [None] * (self.workers - len(self._pool))

    def _fit(self, worker: _Worker | None, needs: frozenset[str]) -> _Worker:
        """Return a worker that has run nothing but what is needed."""
        if worker is not None and worker.touched <= needs:
            return worker
        if worker is not None:
            self._drop(worker)
        context = _copies() if self.copies else _context(self.modules)
        ours, theirs = context.Pipe()
        silent = any(data.public is not True for data in self.labels.values())
        started = theirs, self.host.listed(), self.workers, silent, dict(os.environ)
        process = context.Process(target=_serve, args=started)
        # This process may be a daemon of somebody's, which may have no children; ours end with it anyway.
        multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of ours holds a lock
            process.start()
        theirs.close()
        self._pool.append(_Worker(process=process, pipe=ours, deadline=time.monotonic() + _START))
        return self._pool[-1]

    def _drop(self, worker: _Worker) -> int | None:
        self._pool.remove(worker)
        return worker.end()

    def _batch(self, worker: _Worker | None, turns: Turns[Task]) -> list[Task]:
        """Take as many tasks of one game, and of others that need the same, as take about as long as a batch should."""
        touched, known = (worker.touched, worker.known) if worker is not None else (frozenset[str](), set[object]())
        elsewhere = {key for other in self._pool if other is not worker for key in other.known}
        return turns.take(lambda key: touched <= key[0], known, elsewhere, 1.0)

    def _weight(self, task: Task) -> float:
        """Return what part of a batch a task is: by the last one of its cell, or else by all of late."""
        return max(1 / _BATCH, self._took.get((type(task), task.cell.id), self._mean) / _SECONDS)

    def _collect(self, turns: Turns[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Wait for whatever comes first: a word from a worker, its end, or the end of its time."""
        busy = [worker for worker in self._pool if worker.job]
        left = min(worker.deadline for worker in busy) - time.monotonic()
        waiting: list[Any] = [end for worker in busy for end in (worker.pipe, worker.process.sentinel)]
        multiprocessing.connection.wait(waiting, None if left == float("inf") else max(left, 0.0))
        for worker in busy:
            yield from self._heard_all(worker, turns)
            if not worker.job or worker not in self._pool:
                continue
            if worker.process.exitcode is not None:
                yield self._lost(worker, turns)
            elif time.monotonic() >= worker.deadline:
                yield self._late(worker, turns)

    def _heard_all(self, worker: _Worker, turns: Turns[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Yield what a worker has said by now."""
        while worker.job:
            try:
                if not worker.pipe.poll():
                    return
                word, value = plain_data(worker.pipe.recv_bytes())
            except Exception:  # it died, or what it wrote is no plain data
                yield self._lost(worker, turns)
                return
            if word == "soiled":
                self._drop(worker)
                self._hand_on(worker, turns)
                return
            if found := self._heard(worker, word, value):
                yield found

    def _heard(self, worker: _Worker, word: str, value: Any) -> tuple[Task, Implied | Trial] | None:
        now = time.monotonic()
        if word == "ready":
            worker.ready, worker.deadline = True, _deadline(self.timeout)
        elif word == "doing":
            worker.doing, worker.deadline = value, _deadline(self.timeout)
        elif word == "raised":
            task = worker.job.popleft()
            return task, task.failed(Status.ERROR, f"it raised {value}", worker.doing)
        else:
            result, seconds = value
            self._mean = 0.8 * self._mean + 0.2 * seconds
            self._took[type(worker.job[0]), worker.job[0].cell.id] = seconds
            worker.doing, worker.deadline = "", now + (self.timeout or float("inf"))
            return worker.job.popleft(), result
        return None

    def _lost(self, worker: _Worker, turns: Turns[Task]) -> tuple[Task, Implied | Trial]:
        worker.process.join(5)
        return self._given_up(worker, turns, Status.CRASHED, f"its process {death(self._drop(worker))}")

    def _late(self, worker: _Worker, turns: Turns[Task]) -> tuple[Task, Implied | Trial]:
        self._drop(worker)
        told = f"no result within {self.timeout:g} s" if worker.ready else f"its worker did not start in {_START:g} s"
        return self._given_up(worker, turns, Status.TIMEOUT, told)

    def _hand_on(self, worker: _Worker, turns: Turns[Task]) -> None:
        """Leave what a worker has not done to others."""
        turns.put_back(list(worker.job))
        worker.job.clear()

    def _given_up(self, worker: _Worker, turns: Turns[Task], status: Status, told: str) -> tuple[Task, Implied | Trial]:
        task = worker.job.popleft()
        self._hand_on(worker, turns)
        turns.drop(lambda other: isinstance(other, Play) and other.cell.id == task.cell.id)
        self._mean = max(self._mean, _SECONDS)  # smaller batches: somebody is trouble
        return task, task.failed(status, told, worker.doing)


def _game(task: Task) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return what a worker knows once it has performed a task: what attacks meet there, and whose code that runs."""
    return needs(task), task.cell.curator


def _alike(one: tuple[frozenset[str], object], other: tuple[frozenset[str], object]) -> bool:
    """Whether a worker that performs tasks of one game may perform those of another: they run the same code."""
    return one[0] == other[0]


def _deadline(limit: float | None) -> float:
    return time.monotonic() + (limit or float("inf"))


def _copies() -> Any:
    """Return how copies of this process are started, which need not import everything again."""
    importlib.import_module(_SLOWEST)
    return multiprocessing.get_context("fork")


def _context(modules: tuple[str, ...]) -> Any:
    """Return how workers are started; the first to ask says what they have all imported."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver  # where there is none, it cannot be imported

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, _SLOWEST, *modules])
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # it must find the same labelinf as we did
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        os.environ.update({} if path is None else {"PYTHONPATH": path})
    return context


def _serve(pipe: Connection, host: Host, workers: int, silent: bool, environment: Mapping[str, str]) -> None:
    """Be a worker: perform what comes, one after another, and answer each."""
    os.environ.update(environment)
    if silent:
        _hush()
    _start(workers)

    def say(word: str, value: object = None) -> None:
        pipe.send_bytes(packed((word, value)))

    def tell(name: str, endless: bool) -> None:
        say("doing", name)

    watch.worker = watch.watched = True
    watch.stopped = lambda: False  # nobody stops a worker but its parent
    bench = Bench(builder=Builder(host), held={})
    say("ready")
    threads = threading.active_count()
    while True:
        try:
            tasks, labels = pipe.recv()
        except EOFError:
            return
        bench.hold(labels)
        for task in tasks:
            watch.tell = tell if isinstance(task, Imply) else _silent
            say(*_performed(task, bench))
            if threading.active_count() > threads or _has_children():
                say("soiled")  # somebody left something running: it ends here, with all it left
                pipe.recv()


def _performed(task: Task, bench: Bench) -> tuple[str, object]:
    start = time.perf_counter()
    try:
        result = task.perform(bench)
    except BaseException as error:  # KeyboardInterrupt and the like in anybody's code
        return "raised", type(error).__name__
    return "result", (result, time.perf_counter() - start)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WNOHANG | os.WEXITED | os.WNOWAIT)
    except (AttributeError, ChildProcessError, OSError):
        return False
    return True


def _silent(name: str, endless: bool) -> None:
    """A trial is named by its cell."""


def _hush() -> None:
    """Let nothing out that somebody's code prints, or a thread of it that fails: it is handed private labels."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdout = sys.stderr = os.fdopen(nowhere, "w")  # a notebook's are other ones


def _start(workers: int) -> None:
    """Prepare: a group of its own, no word on the report's standard output, no life after its parent."""
    if hasattr(os, "setsid"):
        os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit_memory(workers + 1)
    importlib.import_module(_SLOWEST)  # must not count against a trial's time limit


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)
