"""What a worker on another machine is handed, and what it does with it.

A :class:`Parcel` travels to every worker once. It holds the labels themselves, so that no worker opens a file of its
own machine, and the versions that the plan was made with: one that has others is refused, as its results would be those
of another run. Whoever receives it performs its batches in a worker process of its own, so that a component that hangs
or dies costs what it costs at home, and the engine (Dask, Slurm) never sees it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

import attrs

from labelinf_core.contracts.components import LabelSet
from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import Processes
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.plan import environment_here
from labelinf_core.evaluator.records import Implied, Trial
from labelinf_core.evaluator.tasks import Task
from labelinf_core.plugin.host import Host
from labelinf_core.plugin.worker import MEMORY_VARIABLE
from labelinf_core.specs import Builder

__all__ = ["Answer", "Parcel", "WorkerRefusal", "end", "perform", "results", "size_of_batch"]

_POOLS: dict[tuple[str, int], Processes] = {}  # of this process, by run and thread


@attrs.frozen(kw_only=True)
class Parcel:
    """What every worker of a run needs, beside its tasks.

    Attributes:
        token: Names the run.
        environment: Versions of Python and of the numerical libraries.
        versions: Versions of the distributions whose plugins are played.
        labels: Label sets by their content.
        host: What is provided by whom.
        timeout: Seconds that one task may take; None for no limit.
        memory: What ``LABELINF_MEMORY`` says where the run is begun; empty for each machine's own.
    """

    token: str
    environment: Mapping[str, str]
    versions: Mapping[str, str]
    labels: Mapping[str, LabelSet] = attrs.field(repr=False)
    host: Host = attrs.field(factory=Host, repr=False)
    timeout: float | None = None
    memory: str = ""

    @classmethod
    def of(cls, plan: Plan, builder: Builder, timeout: float | None) -> Parcel:
        """Pack what the cells of a plan need."""
        return cls(
            token=plan.digest,
            environment=plan.environment,
            versions={name: text for cell in plan.cells for name, text in cell.versions.items()},
            labels=label_sets(plan, builder),
            host=builder.host.listed(),
            timeout=timeout,
            memory=os.environ.get(MEMORY_VARIABLE, ""),
        )

    def refusal(self) -> str:
        """Say why this machine cannot be a worker of the run; empty when it can."""
        here = environment_here() | {name: _version(name) for name in self.versions}
        other = [
            f"{name} {here.get(name, 'is missing')} instead of {text}"
            for name, text in {**self.environment, **self.versions}.items()
            if here.get(name) != text
        ]
        if extra := sorted(environment_here().keys() - self.environment.keys()):
            other.append(f"{extra[0]}, which the plan was made without")
        return f"a worker has {', '.join(other)}; its results would be those of another run" if other else ""


class WorkerRefusal(str):
    """Why a worker performed nothing."""

    __slots__ = ()


Answer = list[tuple[int, Implied | Trial]] | WorkerRefusal
"""The results of a batch by the place of the task; a trial after one that gave its cell up has none."""


def perform(parcel: Parcel, tasks: Sequence[Task]) -> tuple[Answer, float]:
    """Perform a batch here.

    Returns:
        The results, and the seconds that they took.
    """
    if refusal := parcel.refusal():
        return WorkerRefusal(refusal), 0.0
    start = time.perf_counter()
    places = {id(task): place for place, task in enumerate(tasks)}
    found = [(places[id(task)], result) for task, result in _pool(parcel).perform(tasks)]
    return found, time.perf_counter() - start


def results(engine: str, batch: Sequence[Task], answer: Answer) -> Iterator[tuple[Task, Implied | Trial]]:
    """Yield the tasks of a batch, each with what came of it.

    Raises:
        InputError: The worker has other versions than the plan.
    """
    if isinstance(answer, WorkerRefusal):
        raise InputError(f"--executor {engine}: {answer}.")
    yield from ((batch[place], result) for place, result in answer)


def end(token: str) -> None:
    """End the worker processes that play a run here."""
    for key in [key for key in _POOLS if key[0] == token]:
        _POOLS.pop(key).__exit__(None, None, None)


def size_of_batch(seconds: float, mean: float, largest: int) -> int:
    """Return how many tasks of ``mean`` seconds make a batch of about ``seconds``."""
    return max(1, min(largest, int(seconds / max(mean, 1e-4))))


def _pool(parcel: Parcel) -> Processes:
    """Return the worker process of this thread, with which no other thread meddles."""
    key = parcel.token, threading.get_ident()
    if key not in _POOLS:
        if parcel.memory:
            os.environ[MEMORY_VARIABLE] = parcel.memory
        _POOLS[key] = Processes(workers=1, host=parcel.host, timeout=parcel.timeout, labels=parcel.labels, fresh=True)
    return _POOLS[key]


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "is missing"
