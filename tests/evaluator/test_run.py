"""A run does what is left to do, and its results do not depend on who did it or in what order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs
import pytest

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import InProcess
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.results import summarise
from labelinf_core.evaluator.run import is_complete, run, size
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.tasks import Play, Task
from labelinf_core.report.data import as_csv, as_json

PlanOf = Callable[..., Plan]


@attrs.define
class Shuffled:
    """Draws tasks ahead like a pool of workers, and ends them in a random order."""

    bench: TrialRunner
    rng: random.Random
    window: int = 3

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        waiting: list[Task] = []
        for task in tasks:
            waiting.append(task)
            if len(waiting) >= self.window:
                yield self.end_one(waiting)
        while waiting:
            yield self.end_one(waiting)

    def end_one(self, waiting: list[Task]) -> tuple[Task, Implied | Trial]:
        task = waiting.pop(self.rng.randrange(len(waiting)))
        return task, self.result(task)

    def result(self, task: Task) -> Implied | Trial:
        return task.perform(self.bench)


class Dying(Shuffled):
    """The process dies in trials that the attack's name and the trial's number decide."""

    def result(self, task: Task) -> Implied | Trial:
        if isinstance(task, Play) and task.cell.attack.startswith("fake-coin") and task.trial in (2, 4):
            return task.failed(Status.CRASHED, "its process was killed by SIGKILL")
        return super().result(task)


class Stopped(Shuffled):
    """Is interrupted after a few tasks."""

    left: int = 5

    def result(self, task: Task) -> Implied | Trial:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().result(task)


@pytest.fixture
def plan(plan_of: PlanOf) -> Plan:
    return plan_of(
        ["fake-coin(fails=0.3)", "fake-reader", "fake-raises", "fake-picky"], ["none", "fake-noise"], trials=6
    )


def played(directory: Path, plan: Plan, executor: object) -> tuple[str, str]:
    store = Store.open(directory, plan)
    run(plan, store, executor)  # type: ignore[arg-type]
    results = summarise(store)
    assert is_complete(plan, store)
    store.close()
    return as_json(results), as_csv(results)


@pytest.mark.long
def test_order_changes_nothing(tmp_path: Path, plan: Plan, bench: TrialRunner) -> None:
    plain = played(tmp_path / "plain", plan, InProcess(bench))

    for seed in range(3):
        assert played(tmp_path / str(seed), plan, Shuffled(bench, random.Random(seed), window=seed + 2)) == plain


@pytest.mark.long
def test_a_crash_gives_the_cell_up_the_same_way_in_any_order(tmp_path: Path, plan: Plan, bench: TrialRunner) -> None:
    plain = played(tmp_path / "plain", plan, Dying(bench, random.Random(0), window=1))

    for seed in range(4):
        assert played(tmp_path / str(seed), plan, Dying(bench, random.Random(seed), window=9)) == plain
    ends = [outcome["status"] for cell in json.loads(plain[0])["cells"] for outcome in cell["outcomes"][2:]]
    assert ends.count("crashed") == 2  # once in each of the two cells, and nothing after it


@pytest.mark.long
def test_an_interrupted_run_goes_on_to_the_same_bytes(tmp_path: Path, plan: Plan, bench: TrialRunner) -> None:
    plain = played(tmp_path / "plain", plan, InProcess(bench))

    for _ in range(4):
        store = Store.open(tmp_path / "stopped", plan)
        with pytest.raises(KeyboardInterrupt):
            run(plan, store, Stopped(bench, random.Random(0)))
        store.close()

    assert played(tmp_path / "stopped", plan, InProcess(bench)) == plain


@pytest.mark.long
def test_a_complete_run_does_nothing_more(tmp_path: Path, plan: Plan, bench: TrialRunner) -> None:
    first = played(tmp_path, plan, InProcess(bench))

    class Idle:
        def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
            assert list(tasks) == []
            return iter(())

    assert played(tmp_path, plan, Idle()) == first


@pytest.mark.long
def test_progress_counts_up_to_the_size(tmp_path: Path, plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-coin"], ["none", "fake-none"], trials=2)
    seen: list[int] = []
    store = Store.open(tmp_path, plan)

    run(plan, store, InProcess(bench), seen.append)

    assert seen == list(range(size(plan) + 1)) == [0, 1, 2, 3, 4, 5, 6]
    store.close()


@pytest.mark.long
def test_a_mistake_is_told_before_anything_is_played(tmp_path: Path, plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-coin"], ["none"], settings={"scorer": ["float64", "math:pi", "math:fsum"]})
    store = Store.open(tmp_path, plan)

    with pytest.raises(InputError) as caught:
        run(plan, store, InProcess(bench))

    assert len(str(caught.value).splitlines()) == 2
    assert all(tuple(store.trials(cell.id)) == () for cell in plan.cells)
    store.close()


@pytest.mark.slow
def test_another_seed_gives_other_results(tmp_path: Path, plan_of: PlanOf, bench: TrialRunner) -> None:
    one = played(tmp_path / "0", plan_of(["fake-coin"], ["none"], seed=0), InProcess(bench))
    two = played(tmp_path / "1", plan_of(["fake-coin"], ["none"], seed=1), InProcess(bench))

    assert one[1] != two[1]
