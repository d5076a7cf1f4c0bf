"""Tasks on the workers of a Dask cluster.

What a worker needs travels as a plugin of the cluster: Dask hands it to every worker once, also to one that joins
later. A batch whose worker is lost is given to another one; as every task is decided by its content, the results are
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from types import TracebackType
from typing import Any

import attrs
import distributed

from labelinf_core.contracts.errors import ComponentError, InputError
from labelinf_core.evaluator import remote
from labelinf_core.evaluator.records import Implied, Trial
from labelinf_core.evaluator.remote import Answer, Parcel, size_of_batch
from labelinf_core.evaluator.tasks import Task, draw, groups

__all__ = ["Dask"]

_SECONDS = 1.0  # how long a batch should take
_LARGEST = 200  # tasks in one
_LOSSES = 5  # workers that one batch may lose
_PARCELS: dict[str, Parcel] = {}  # what this process, being a worker, was handed


class _Handed(distributed.WorkerPlugin):  # type: ignore[misc]
    """Hands a parcel to a worker when it joins."""

    def __init__(self, parcel: Parcel) -> None:
        self.parcel = parcel
        self.name = f"labelinf-{parcel.token}"

    def setup(self, worker: Any) -> None:
        """Take it."""
        _PARCELS[self.parcel.token] = self.parcel

    def teardown(self, worker: Any) -> None:
        """Let go of it, and end what plays there."""
        _PARCELS.pop(self.parcel.token, None)
        remote.end(self.parcel.token)


def _perform(token: str, tasks: list[Task]) -> tuple[Answer, float]:
    return remote.perform(_PARCELS[token], tasks)


@attrs.define(kw_only=True)
class Dask:
    """Performs tasks on a cluster. A context manager: leaving it leaves the cluster as it was.

    Attributes:
        parcel: What every worker needs.
        address: Of the scheduler; empty for the one that Dask is configured for, or else workers on this machine.
        workers: How many workers on this machine, where there is no scheduler.
    """

    parcel: Parcel
    address: str = ""
    workers: int = 1
    _client: Any = attrs.field(default=None, init=False, repr=False)
    _cluster: Any = attrs.field(default=None, init=False, repr=False)
    _mean: float = attrs.field(default=_SECONDS, init=False, repr=False)

    def __enter__(self) -> Dask:
        import dask

        address = self.address or dask.config.get("scheduler-address", None)
        try:
            if not address:
                self._cluster = distributed.LocalCluster(
                    n_workers=self.workers, threads_per_worker=1, dashboard_address=None
                )
            self._client = distributed.Client(address or self._cluster, timeout="20s", set_as_default=False)
            self._client.wait_for_workers(1, timeout=60)
            self._client.register_plugin(_Handed(self.parcel))
        except (OSError, TimeoutError, ImportError, RuntimeError) as error:  # the last where a worker dies as it starts
            self.__exit__(None, None, None)
            kind = InputError if address else ComponentError
            raise kind(
                f"--executor dask: no worker with labelinf at {address or 'this machine'} ({type(error).__name__})."
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            if kind is None:
                self._client.unregister_worker_plugin(f"labelinf-{self.parcel.token}")
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        """Perform ``tasks``, drawing few ahead so that a cell given up costs little.

        Raises:
            InputError: A worker has other versions than the plan, or too many workers are lost.
        """
        source = groups(tasks)
        running: dict[Any, tuple[list[Task], int]] = {}
        while True:
            while len(running) < 2 * max(1, sum(self._client.nthreads().values())):
                batch = list(chain(*draw(source, size_of_batch(_SECONDS, self._mean, _LARGEST))))
                if not batch:
                    break
                running[self._submit(batch)] = batch, 0
            if not running:
                return
            with self._client.as_current():
                done = distributed.wait(list(running), return_when="FIRST_COMPLETED").done
            for future in done:
                batch, losses = running.pop(future)
                if future.status != "finished":
                    running[self._submit(batch)] = batch, self._lost(losses)
                    continue
                answer, seconds = future.result()
                self._mean = 0.8 * self._mean + 0.2 * seconds / len(batch)
                yield from remote.results("dask", batch, answer)

    def _submit(self, batch: list[Task]) -> Any:
        return self._client.submit(_perform, self.parcel.token, batch, pure=False)

    def _lost(self, losses: int) -> int:
        if losses >= _LOSSES:
            raise InputError(f"--executor dask: one batch lost its worker {losses} times; what was played is kept.")
        return losses + 1
