"""Whatever engine performs a run, whoever is lost meanwhile, the results are the same bytes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.engines import Engine, read_engine
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.remote import Parcel, WorkerRefusal, end, perform
from labelinf_core.evaluator.results import summarise
from labelinf_core.evaluator.run import is_complete, run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.tasks import Play
from labelinf_core.plugin.worker import MEMORY_VARIABLE
from labelinf_core.report.data import as_csv, as_json

PlanOf = Callable[..., Plan]


def played(directory: Path, plan: Plan, executor: Any) -> tuple[str, str]:
    store = Store.open(directory, plan)
    try:
        run(plan, store, executor)
        assert is_complete(plan, store)
        results = summarise(store)
        return as_json(results), as_csv(results)
    finally:
        store.close()


@pytest.fixture
def plan(plan_of: PlanOf) -> Plan:
    return plan_of(["fake-reader(pause=0.02)", "fake-coin(fails=0.3)"], ["none", "fake-noise"], trials=6)


@pytest.mark.long
@pytest.mark.timeout(180)
def test_a_parcel_holds_the_labels_and_is_refused_where_versions_differ(
    plan_of: PlanOf, bench: TrialRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that the labels were read from is gone where the worker is; the limit of memory goes with them."""
    monkeypatch.setenv(MEMORY_VARIABLE, "3")
    file = tmp_path / "labels.csv"
    file.write_text("label\n" + "a\nb\n" * 6)
    plan = plan_of(["fake-coin"], ["none"], trials=2, labels=[f"csv(path={str(file)!r})"])
    parcel = Parcel.of(plan, bench.builder, timeout=60)
    file.unlink()
    monkeypatch.delenv(MEMORY_VARIABLE)
    tasks = [Play(cell=plan.cells[0], seed=0, trial=trial) for trial in range(2)]

    answer, _ = perform(parcel, tasks)
    end(parcel.token)

    assert os.environ.pop(MEMORY_VARIABLE) == "3"
    assert not isinstance(answer, WorkerRefusal)
    assert [result.n_correct for _, result in sorted(answer)] != []  # type: ignore[union-attr]
    assert {place for place, _ in answer} == {0, 1}
    other = attrs.evolve(parcel, environment={**parcel.environment, "numpy": "1.0"})
    told, _ = perform(other, tasks)
    assert isinstance(told, WorkerRefusal)
    assert told.startswith("a worker has numpy ")
    assert "instead of 1.0" in told


def test_an_engine_is_a_word_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text('executor = "local"\nworkers = 3\n')
    assert read_engine(str(file), None) == Engine(workers=3)
    assert read_engine(str(file), 1).workers == 1

    file.write_text('executor = "local"\nworker = 3\n')
    with pytest.raises(InputError, match="unknown parameter 'worker'"):
        read_engine(str(file), None)
    with pytest.raises(InputError, match="--executor cloud"):
        read_engine("cloud", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"--executor dask needs an extra: pip install 'labelinf\[dask\]'"):
        read_engine("dask", None)


@contextmanager
def killing(find: Callable[[], list[int]], after: Path) -> Iterator[list[int]]:
    """Kill one of the processes that ``find`` finds, once the record in ``after`` holds something."""
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (after / "run.sqlite-wal").exists() and (found := find()):
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    yield killed
    thread.join()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_dask_gives_the_same_bytes_when_a_worker_is_killed(plan: Plan, bench: TrialRunner, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    plain = played(tmp_path / "plain", plan, InProcess(bench))

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:

        def pids() -> list[int]:
            return [info["pid"] for info in cluster.scheduler_info["workers"].values() if "pid" in info] or [
                nanny.pid for nanny in cluster.workers.values()
            ]

        engine = Engine(executor="dask", address=cluster.scheduler_address)
        with engine.opened(plan, bench.builder, tmp_path, 60) as executor, killing(pids, tmp_path / "dask") as killed:
            assert played(tmp_path / "dask", plan, executor) == plain
        assert killed


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_dask_refuses_workers_of_other_versions(plan: Plan, bench: TrialRunner, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    other = attrs.evolve(plan, environment={**plan.environment, "numpy": "1.0"})

    with (
        Engine(executor="dask", workers=1).opened(other, bench.builder, tmp_path, 60) as executor,
        pytest.raises(InputError, match=r"--executor dask: a worker has numpy .* instead of 1\.0"),
    ):
        played(tmp_path / "dask", other, executor)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_job_arrays_give_the_same_bytes(plan: Plan, bench: TrialRunner, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    plain = played(tmp_path / "plain", plan, InProcess(bench))

    engine = Engine(executor="slurm", cluster="local", workers=2)
    with engine.opened(plan, bench.builder, tmp_path / "array", 60) as executor:
        assert played(tmp_path / "array", plan, executor) == plain

    assert not (tmp_path / "array" / "jobs").exists()
