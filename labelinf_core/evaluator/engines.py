"""Where a run is performed: in this process, in worker processes, on a Dask cluster or in Slurm's job arrays.

An engine is named by a word, or described in a small TOML file::

    executor = "slurm"
    workers = 40            # jobs of one array
    seconds = 600           # how long a job should take

    [parameters]            # what submitit is told
    slurm_partition = "cpu"
    mem_gb = 4

    executor = "dask"
    address = "tcp://scheduler:8786"
"""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import attrs
from cattrs.errors import ClassValidationError

from labelinf_core.contracts.errors import InputError
from labelinf_core.contracts.regular import read_regular
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import Executor, InProcess, Processes
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.specs import Builder, faults, strict_converter

__all__ = ["Engine", "local", "read_engine"]

_NEEDS = {"dask": "distributed", "slurm": "submitit"}


@attrs.frozen(kw_only=True)
class Engine:
    """Where tasks are performed.

    Attributes:
        executor: ``local``, ``dask`` or ``slurm``.
        workers: How many workers, or jobs of an array; one per core when omitted; 0 plays what comes
            with labelinf in this process, and other code in one worker.
        address: Of Dask's scheduler; without one, Dask's workers run on this machine.
        cluster: What submitit submits to: ``slurm``, or ``local`` to try it on this machine.
        seconds: How long a job of an array should take.
        parameters: What submitit is told of a job.
    """

    executor: Literal["local", "dask", "slurm"] = "local"
    workers: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    address: str = ""
    cluster: Literal["slurm", "local"] = "slurm"
    seconds: float = attrs.field(default=300.0, validator=attrs.validators.gt(0))
    parameters: dict[str, Any] = attrs.field(factory=dict)

    @contextmanager
    def opened(self, plan: Plan, builder: Builder, directory: Path, timeout: float | None) -> Iterator[Executor]:
        """Begin to perform a plan.

        Args:
            plan: What is performed.
            builder: Builds the components of a host's plugins.
            directory: Of the run.
            timeout: Seconds that one task may take.

        Raises:
            InputError: The engine cannot be reached.
        """
        from labelinf_core.evaluator.remote import Parcel

        workers = (os.cpu_count() or 1) if self.workers is None else self.workers
        if self.executor == "dask":
            from labelinf_core.evaluator.dask import Dask

            parcel = Parcel.of(plan, builder, timeout)
            with Dask(parcel=parcel, address=self.address, workers=max(workers, 1)) as cluster:
                yield cluster
        elif self.executor == "slurm":
            from labelinf_core.evaluator.slurm import Slurm

            with Slurm(
                parcel=Parcel.of(plan, builder, timeout),
                folder=directory / "jobs",
                cluster=self.cluster,
                workers=max(workers, 1),
                seconds=self.seconds,
                parameters=self.parameters,
            ) as arrays:
                yield arrays
        else:
            with local(plan, builder, timeout, workers) as executor:
                yield executor


@contextmanager
def local(plan: Plan, builder: Builder, timeout: float | None, workers: int) -> Iterator[Executor]:
    """Begin to perform a plan in workers on this machine.

    Args:
        plan: What is performed.
        builder: Builds the components of a host's plugins.
        timeout: Seconds that one task may take in a worker.
        workers: How many; 0 has one, which performs what runs other code than labelinf's own, this process the rest.
    """
    labels = label_sets(plan, builder)
    with Processes(workers=max(workers, 1), host=builder.host, timeout=timeout, labels=labels) as processes:
        if workers:
            yield processes
        else:
            bench = TrialRunner(builder=builder)
            bench.hold(labels)
            yield InProcess(bench, aside=processes)


def read_engine(text: str, workers: int | None) -> Engine:
    """Read ``--executor``: a word, or the path of a TOML file; ``workers`` overrides what it says.

    Raises:
        InputError: It is neither, the file is malformed, or an extra is missing.
    """
    tables: Mapping[str, Any] = {"executor": text}
    if text.endswith(".toml"):
        try:
            tables = tomllib.loads(read_regular(text).decode("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"--executor {text}: it cannot be read ({type(error).__name__}: {error}).") from error
    try:
        engine = strict_converter().structure(tables, Engine)
    except ClassValidationError as error:
        told = "\n".join(f"--executor {text}: {fault.lstrip('.: ')}" for fault in faults(error, ""))
        raise InputError(told) from error
    needed = _NEEDS.get(engine.executor)
    if needed is not None and importlib.util.find_spec(needed) is None:
        raise InputError(f"--executor {engine.executor} needs an extra: pip install 'labelinf[{engine.executor}]'.")
    return engine if workers is None else attrs.evolve(engine, workers=workers)
