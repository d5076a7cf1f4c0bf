"""Whatever ends a run, the same command ends it with the same bytes.

Kills of the run and of its workers at random moments, a disk that is full. A folder that cannot be written, damage of
the record anywhere and two processes on one run are in ``test_store.py``.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import InProcess, Processes
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.results import summarise
from labelinf_core.evaluator.run import is_complete, run
from labelinf_core.evaluator.store import Store
from labelinf_core.report.data import as_json

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
PlanOf = Callable[..., Plan]


def played(folder: Path, plan: Plan, bench: TrialRunner) -> str:
    store = Store.open(folder, plan)
    try:
        run(plan, store, InProcess(bench))
        assert is_complete(plan, store)
        return as_json(summarise(store), full=True)
    finally:
        store.close()


def forked(folder: Path, plan: Plan, bench: TrialRunner, largest: int = 0) -> int:
    """Play in a copy of this process, whose files may grow to ``largest`` bytes; 2 is a sentence for the user."""
    child = os.fork()
    if not child:
        status = 1
        try:
            if largest:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            played(folder, plan, bench)
            status = 0
        except InputError:
            status = 2
        finally:
            os._exit(status)
    return child


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_at_random_moments_ends_with_the_same_bytes(
    plan_of: PlanOf, bench: TrialRunner, tmp_path: Path, kills: int
) -> None:
    plan = plan_of(["fake-reader(pause=0.002)", "fake-coin(fails=0.3)"], ["none", "fake-noise"], trials=6 * kills)
    plain = played(tmp_path / "plain", plan, bench)
    rng = np.random.default_rng(kills)

    killed = 0
    for _ in range(kills):
        child = forked(tmp_path / "run", plan, bench)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])

    assert killed
    assert played(tmp_path / "run", plan, bench) == plain


@pytest.mark.long
@pytest.mark.parametrize("largest", [1_000, pytest.param(40_000, marks=pytest.mark.slow)])
def test_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_room(
    plan_of: PlanOf, bench: TrialRunner, tmp_path: Path, largest: int
) -> None:
    plan = plan_of(["fake-coin(fails=0.3)"], ["none", "fake-noise"], trials=100)
    plain = played(tmp_path / "plain", plan, bench)

    child = forked(tmp_path / "run", plan, bench, largest)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert played(tmp_path / "run", plan, bench) == plain


def workers_of(pool: Processes) -> list[int]:
    return [pid for player in pool._pool if player.job and (pid := player.worker.process.pid)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [3, 50])
def test_workers_that_are_killed_cost_their_cells_and_retry_plays_those_again(
    plan_of: PlanOf, bench: TrialRunner, tmp_path: Path, kills: int
) -> None:
    """A cell whose worker died is given up, as its own attack may have done it; ``--resume`` makes it whole."""
    plan = plan_of(["fake-reader(pause=0.01)", "fake-coin"], ["none", "fake-noise"], trials=4 * kills)
    plain = played(tmp_path / "plain", plan, bench)
    rng = np.random.default_rng(kills)
    labels = label_sets(plan, bench.builder)
    store, killed, left = Store.open(tmp_path / "run", plan), 0, 0

    def stab(_: int) -> None:
        nonlocal killed, left
        left -= 1
        if left <= 0 and killed < kills and (found := workers_of(pool)):
            os.kill(found[0], signal.SIGKILL)
            killed, left = killed + 1, int(rng.integers(1, 8))

    with Processes(workers=2, host=bench.builder.host, labels=labels) as pool:
        while not is_complete(plan, store):
            run(plan, store, pool, stab)
            store.forget_failed()
    store.close()

    assert killed == kills
    assert played(tmp_path / "run", plan, bench) == plain
