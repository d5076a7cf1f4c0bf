"""Worker processes survive what components do to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import Imply, InProcess, Play, Processes, Task
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.play import Bench
from labelinf_core.evaluator.records import Implied, Status, Trial

PlanOf = Callable[..., Plan]


def tasks_of(plan: Plan) -> list[Task]:
    plays = [Play(cell=cell, seed=0, trial=trial) for trial in range(plan.trials) for cell in plan.cells]
    return [*(Imply(cell=cell) for cell in plan.cells), *plays]


@pytest.mark.timeout(120)
def test_workers_outlive_attacks_that_raise_hang_and_die(plan_of: PlanOf, bench: Bench) -> None:
    plan = plan_of(["fake-hangs", "fake-dies", "fake-raises", "fake-coin", "fake-reader"], ["none"], trials=1)
    tasks = [task for task in tasks_of(plan) if isinstance(task, Play)]

    with Processes(workers=2, timeout=6, labels=label_sets(plan, bench.builder)) as pool:
        found = {task.cell.shown.attack: result for task, result in pool.perform(tasks)}

    assert found["fake-hangs"] == Trial(status=Status.TIMEOUT, message="no result within 6 s")
    assert found["fake-dies"] == Trial(status=Status.CRASHED, message="its process was killed by SIGKILL")
    assert found["fake-raises"].message.endswith("ZeroDivisionError: this attack divides by zero")
    for name in ("fake-coin", "fake-reader"):
        (cell,) = (cell for cell in plan.cells if cell.shown.attack == name)
        here = bench.play(cell, 0, 0)
        there = found[name]
        assert isinstance(there, Trial)
        assert (there.n_correct, there.queries, there.evidence) == (here.n_correct, here.queries, here.evidence)


@pytest.mark.timeout(120)
def test_workers_block_the_same_plugins(plan_of: PlanOf, bench: Bench) -> None:
    plan = plan_of(["fake-coin"], ["none"], trials=1)

    labels = label_sets(plan, bench.builder)
    with Processes(workers=1, blocked=frozenset({"fakes"}), labels=labels) as pool:
        ((_, result),) = pool.perform([Imply(cell=plan.cells[0])])

    assert isinstance(result, Implied)
    assert "UnknownNameError: no attack is called 'fake-coin'" in result.message


def test_tasks_are_drawn_only_as_they_are_needed(plan_of: PlanOf, bench: Bench) -> None:
    plan = plan_of(["fake-coin"], ["none"], trials=3)
    drawn: list[Task] = []

    def source() -> object:
        for task in tasks_of(plan):
            drawn.append(task)
            yield task

    performed = InProcess(bench).perform(source())  # type: ignore[arg-type]
    next(performed)

    assert len(drawn) == 1
