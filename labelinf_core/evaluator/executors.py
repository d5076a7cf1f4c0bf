"""Where tasks are performed: in this process, or in workers.

A worker (:class:`~labelinf_core.plugin.worker.Worker`) is a copy of this process, or a fresh one where that cannot be.
One that hangs past the time limit is ended with all that it started, one that dies is noticed at once: the task at
which it was says what happened, the rest of its batch goes to another worker. Each keeps what it has computed for a
game, and is given more of the same; what comes of a task depends on none of this.
"""

from __future__ import annotations

import importlib
import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Protocol

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import ComponentError
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.tasks import Group, Imply, Play, Task, groups
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import Worker, death, watch
from labelinf_core.specs import Builder

__all__ = ["Executor", "InProcess", "Processes"]

_BATCH = 32  # tasks that travel together, unless more belong together, and
_SECONDS = 0.05  # how long a batch should take
_AHEAD = 64  # groups that are drawn and not yet given out, at most
_SLOWEST = "sklearn.metrics"  # of what is imported by games: must not count against a trial's time limit
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
        aside: Who performs those that run other code than labelinf's own; None: this process does.
    """

    bench: TrialRunner
    aside: Executor | None = None

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks`` in order, or nearly so where those that run other code follow one another."""
        for foreign, group in itertools.groupby(tasks, lambda task: task.cell.foreign):
            if foreign and self.aside is not None:
                yield from self.aside.perform(group)
            else:
                yield from ((task, task.perform(self.bench)) for task in group)


@attrs.define
class _Player:
    """A worker as the pool sees it.

    Attributes:
        worker: The process.
        known: The games that it has been given.
        job: The tasks that it has not performed yet, in order.
        doing: Whose code it runs, where that is told.
        deadline: When the task at which it is must have ended.
    """

    worker: Worker
    known: set[object] = attrs.field(factory=set)
    job: deque[Task] = attrs.field(factory=deque)
    doing: str = ""
    deadline: float = 0.0


@attrs.define
class Processes:
    """Performs tasks in workers. A context manager: leaving it ends them.

    Attributes:
        workers: How many.
        host: What is provided by whom.
        timeout: Seconds that one task may take; None for no limit.
        labels: Label sets by their content.
        fresh: Whether workers are no copies of this process: it has threads that a copy would miss.
    """

    workers: int
    host: Host = attrs.field(repr=False)
    timeout: float | None = None
    labels: Mapping[str, LabelSet] = attrs.field(factory=dict, repr=False)
    fresh: bool = False
    _pool: list[_Player] = attrs.field(factory=list, init=False, repr=False)
    _waiting: deque[Group] = attrs.field(factory=deque, init=False, repr=False)
    _given_up: set[str] = attrs.field(factory=set, init=False, repr=False)
    _mean: float = attrs.field(default=1.0, init=False, repr=False)
    _took: dict[tuple[type[Task], str], float] = attrs.field(factory=dict, init=False, repr=False)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._pool:
            self._drop(self._pool[-1])

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks``, drawing few ahead so that a cell given up costs little.

        Raises:
            ComponentError: A worker did not start.
        """
        self._waiting.clear()
        self._given_up.clear()
        source = groups(filter(self._is_wanted, tasks))
        try:
            while True:
                self._give_out(source)
                if not any(player.job for player in self._pool):
                    return
                yield from self._collect()
        finally:  # whoever asked may not want the rest
            for player in [player for player in self._pool if player.job]:
                self._drop(player)

    def _is_wanted(self, task: Task) -> bool:
        """Whether a task may be performed: not a trial of a cell that ended a worker."""
        return not isinstance(task, Play) or task.cell.id not in self._given_up

    def _give_out(self, source: Iterator[Group]) -> None:
        """Give every free worker a batch, and start those that are missing while there are any."""
        while True:
            self._waiting.extend(itertools.islice(source, _AHEAD - len(self._waiting)))
            free = next((player for player in self._pool if not player.job), None)
            if not self._waiting or (free is None and len(self._pool) >= self.workers):
                return
            player = self._started() if free is None else free
            batch = self._batch(player)
            player.job.extend(batch)
            player.known.update(map(_game, batch))
            player.deadline = self._deadline()
            player.worker.say(batch)

    def _batch(self, player: _Player) -> list[Task]:
        """Take as many groups as take about as long as a batch should: none of what another worker knows, if possible.

        A group is never divided.
        """
        elsewhere = {game for other in self._pool if other is not player for game in other.known} - player.known
        better = [group for group in self._waiting if _game(group[0]) not in elsewhere]
        batch: list[Task] = []
        for group in better or list(self._waiting):
            if batch and sum(map(self._weight, [*batch, *group])) > 1:
                break
            batch += group
            self._waiting.remove(group)
        return batch

    def _weight(self, task: Task) -> float:
        """Return what part of a batch a task is: by the last one of its cell, or else by all of late."""
        return max(1 / _BATCH, self._took.get((type(task), task.cell.id), self._mean) / _SECONDS)

    def _deadline(self) -> float:
        return time.monotonic() + (self.timeout or float("inf"))

    def _started(self) -> _Player:
        importlib.import_module(_SLOWEST)
        silent = any(data.public is not True for data in self.labels.values())
        worker = Worker(_serve, self.host, self.labels, silent=silent, shares=self.workers + 1, fresh=self.fresh)
        try:
            worker.heard(_START)
        except (EOFError, TimeoutError) as error:
            how = f"did not start in {_START:g} s" if isinstance(error, TimeoutError) else death(worker.end(1.0))
            worker.end()
            raise ComponentError(f"a worker {how}; what was played is kept.") from error
        self._pool.append(_Player(worker=worker))
        return self._pool[-1]

    def _drop(self, player: _Player, grace: float = 0.0) -> int | None:
        self._pool.remove(player)
        return player.worker.end(grace)

    def _collect(self) -> Iterator[tuple[Task, Implied | Trial]]:
        """Wait for whatever comes first: a word from a worker, its end, or the end of its time."""
        busy = [player for player in self._pool if player.job]
        left = min(player.deadline for player in busy) - time.monotonic()
        ends: list[Any] = [end for player in busy for end in (player.worker.pipe, player.worker.process.sentinel)]
        wait(ends, min(max(left, 0.0), 1.0))
        for player in busy:
            yield from self._heard(player)

    def _heard(self, player: _Player) -> Iterator[tuple[Task, Implied | Trial]]:
        """Yield what came of the tasks that a worker has ended by now, one way or the other."""
        while player.job:
            try:
                word, value, seconds = player.worker.heard(0.0)
            except TimeoutError:
                if time.monotonic() >= player.deadline:
                    self._drop(player)
                    yield self._give_up(player, Status.TIMEOUT, f"no result within {self.timeout:g} s")
                return
            except Exception:  # it died, or nobody can read what it wrote
                how = death(self._drop(player, grace=5.0))
                yield self._give_up(player, Status.CRASHED, f"its process {how}")
                return
            player.deadline = self._deadline()
            if word == "doing":
                player.doing = value
                continue
            task = player.job.popleft()
            if word == "raised":
                yield task, task.failed(Status.ERROR, f"it raised {value}", player.doing)
                continue
            player.doing = ""
            self._mean = 0.8 * self._mean + 0.2 * seconds
            self._took[type(task), task.cell.id] = seconds
            yield task, value

    def _give_up(self, player: _Player, status: Status, told: str) -> tuple[Task, Implied | Trial]:
        """Return what is kept of the task that ended a worker; others do the rest, but for trials of its cell."""
        task = player.job.popleft()
        rest = [list(group) for _, group in itertools.groupby(player.job, _game)]
        player.job.clear()
        if isinstance(task, Play):
            self._given_up.add(task.cell.id)
        waiting = (list(filter(self._is_wanted, group)) for group in (*rest, *self._waiting))
        self._waiting = deque(filter(None, waiting))
        self._mean = max(self._mean, _SECONDS)  # smaller batches: somebody is trouble
        return task, task.failed(status, told, player.doing)


def _game(task: Task) -> tuple[str, ...]:
    """Return what a worker knows once it has performed a task: what attacks meet there."""
    return task.cell.curator


def _serve(pipe: Connection, host: Host, labels: Mapping[str, LabelSet]) -> None:
    """Be a worker: perform what comes, one after another, and answer each."""
    importlib.import_module(_SLOWEST)
    bench = TrialRunner(builder=Builder(host))
    bench.hold(labels)

    def tell(name: str) -> None:
        pipe.send(("doing", name, 0.0))

    pipe.send("ready")
    while True:
        for task in pipe.recv():
            watch.tell = tell if isinstance(task, Imply) else _silent
            start = time.perf_counter()
            try:
                found: tuple[str, object] = "done", task.perform(bench)
            except BaseException as error:  # KeyboardInterrupt and the like in anybody's code
                found = "raised", type(error).__name__
            pipe.send((*found, time.perf_counter() - start))


def _silent(name: str) -> None:
    """A trial is named by its cell."""
