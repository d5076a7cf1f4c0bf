"""Tasks as job arrays of Slurm, through submitit.

An array needs its tasks beforehand, so they are played in rounds: as many as the jobs of one array should take, then
the record is looked at anew, and what was given up meanwhile is not played. Every job holds its tasks and the labels
themselves, in files that are as private as the run record: they lie beside it, readable to nobody else, and go when the
run ends.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs
import submitit

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator import remote
from labelinf_core.evaluator.records import Implied, Trial
from labelinf_core.evaluator.remote import Parcel, size_of_batch
from labelinf_core.evaluator.tasks import Task, draw, groups

__all__ = ["Slurm"]

_LARGEST = 5000  # tasks of one job
_FIRST = 4  # tasks of a job of the first round, which measures how long they take
_LOSSES = 4  # times that a job is tried
_POLL = 0.1


def _perform(parcel: Parcel, tasks: list[Task]) -> tuple[remote.Answer, float]:
    try:
        return remote.perform(parcel, tasks)
    finally:
        remote.end(parcel.token)


@attrs.define(kw_only=True)
class Slurm:
    """Performs tasks in job arrays. A context manager: leaving it cancels what still runs.

    Attributes:
        parcel: What every job needs.
        folder: Where the jobs' files lie, on a disk that the workers see too.
        cluster: ``slurm``, or ``local`` for processes of this machine.
        workers: Jobs of one array.
        seconds: How long a job should take.
        parameters: What submitit is told of a job (``slurm_partition``, ``timeout_min``, ...).
    """

    parcel: Parcel
    folder: Path
    cluster: str = "slurm"
    workers: int = 1
    seconds: float = 300.0
    parameters: Mapping[str, Any] = attrs.field(factory=dict)
    _executor: Any = attrs.field(default=None, init=False, repr=False)
    _mean: float = attrs.field(default=0.0, init=False, repr=False)
    _jobs: list[Any] = attrs.field(factory=list, init=False, repr=False)

    def __enter__(self) -> Slurm:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        try:
            self._executor = submitit.AutoExecutor(folder=self.folder, cluster=self.cluster)
            self._executor.update_parameters(**{"timeout_min": 60, **self.parameters})
        except Exception as error:  # submitit asserts, and raises whatever Slurm makes it raise
            raise InputError(f"--executor slurm: submitit cannot use {self.cluster!r}: {error}.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for job in self._jobs:
            job.cancel(check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks`` in rounds.

        Raises:
            InputError: A worker has other versions than the plan, or a job is lost again and again.
        """
        source = groups(tasks)
        while True:
            each = size_of_batch(self.seconds, self._mean, _LARGEST) if self._mean else _FIRST
            drawn = draw(source, each * self.workers)
            if not drawn:
                return
            jobs = min(self.workers, len(drawn))
            batches = [list(chain(*drawn[start::jobs])) for start in range(jobs)]
            yield from self._round(batches)

    def _round(self, batches: list[list[Task]]) -> Iterator[tuple[Task, Implied | Trial]]:
        for _ in range(_LOSSES):
            self._jobs = self._executor.map_array(_perform, [self.parcel] * len(batches), batches)
            waiting, lost = dict(zip(self._jobs, batches, strict=True)), []
            while waiting:
                for job in [job for job in waiting if job.done()]:
                    batch = waiting.pop(job)
                    if job.exception() is not None:
                        lost.append(batch)
                    else:
                        answer, seconds = job.result()
                        self._mean = max(seconds / len(batch), 0.5 * self._mean)
                        yield from remote.results("slurm", batch, answer)
                time.sleep(_POLL if waiting else 0)
            self._jobs, batches = [], lost
            if not batches:
                return
        raise InputError(f"--executor slurm: a job was lost {_LOSSES} times; what was played is kept.")
