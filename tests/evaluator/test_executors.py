"""Worker processes survive what components do to them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from labelinf_core.evaluator import play
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.engines import local
from labelinf_core.evaluator.executors import InProcess, Processes, _Player
from labelinf_core.evaluator.labels import label_sets
from labelinf_core.evaluator.play import TrialRunner
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.run import run
from labelinf_core.evaluator.store import Store
from labelinf_core.evaluator.tasks import Group, Imply, Play, Task, groups
from labelinf_core.evaluator.theory import theory as whole
from labelinf_core.plugin.host import Host

PlanOf = Callable[..., Plan]


def tasks_of(plan: Plan) -> list[Task]:
    plays = [Play(cell=cell, seed=0, trial=trial) for trial in range(plan.trials) for cell in plan.cells]
    return [*(Imply(cell=cell) for cell in plan.cells), *plays]


@pytest.mark.long
@pytest.mark.timeout(120)
def test_workers_outlive_attacks_that_raise_hang_and_die(plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-hangs", "fake-dies", "fake-raises", "fake-coin", "fake-reader"], ["none"], trials=1)
    tasks = [task for task in tasks_of(plan) if isinstance(task, Play)]

    with Processes(workers=2, host=bench.builder.host, timeout=6, labels=label_sets(plan, bench.builder)) as pool:
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


@pytest.mark.long
@pytest.mark.timeout(120)
def test_workers_block_the_same_plugins(plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-coin"], ["none"], trials=1)

    labels = label_sets(plan, bench.builder)
    with Processes(workers=1, host=Host.load(blocked={"fakes"}), labels=labels) as pool:
        ((_, result),) = pool.perform([Imply(cell=plan.cells[0])])

    assert isinstance(result, Implied)
    assert "UnknownNameError: no attack is called 'fake-coin'" in result.message


@pytest.mark.long
def test_tasks_are_drawn_only_as_they_are_needed(plan_of: PlanOf, bench: TrialRunner) -> None:
    plan = plan_of(["fake-coin"], ["none"], trials=3)
    drawn: list[Task] = []

    def source() -> object:
        for task in tasks_of(plan):
            drawn.append(task)
            yield task

    performed = InProcess(bench).perform(source())  # type: ignore[arg-type]
    next(performed)

    assert len(drawn) == 1


@attrs.define
class Listening:
    """Performs in process, and remembers which groups there were."""

    bench: TrialRunner
    heard: list[Group] = attrs.field(factory=list)

    def perform(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Implied | Trial]]:
        for group in groups(tasks):
            self.heard.append(group)
            yield from InProcess(self.bench).perform(group)


@pytest.mark.long
def test_the_attacks_of_a_trial_meet_their_victim_in_one_worker_and_theory_is_asked_once(
    plan_of: PlanOf, bench: TrialRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Channels keep what they trained for a trial: it is trained once for all workers where nobody else trains it."""
    asked: Counter[str] = Counter()

    def theory(builder: Any, channel: str, defences: Any, threat: Any, *rest: Any) -> Implied:
        asked[repr((channel, defences, threat, rest))] += 1
        return whole(builder, channel, defences, threat, *rest)

    monkeypatch.setattr(play, "theory", theory)
    views = {"scorer": ["float64", "float32"]}
    plan = plan_of(["majority", "prime-blocks"], ["none", "round(decimals=3)"], trials=3, settings=views)
    pool = Listening(bench)

    store = Store.open(tmp_path, plan)
    run(plan, store, pool)
    store.close()

    played = [group for group in pool.heard if isinstance(group[0], Play)]
    assert Counter(len(group) for group in played) == {
        4: 6
    }  # two attacks on two views, of two defences in three trials
    assert len({(task.trial, task.cell.curator) for group in played for task in group if isinstance(task, Play)}) == 6
    assert set(asked.values()) == {1}


def test_no_group_is_split_between_workers(plan_of: PlanOf) -> None:
    """However long its tasks take."""
    plan = plan_of(["majority", "prime-blocks"], ["none", "round(decimals=3)"], trials=1)
    pool, player = Processes(workers=2, host=Host()), Any
    pool._waiting.extend(groups(Play(cell=cell, seed=0, trial=0) for cell in plan.cells))

    assert [len(pool._batch(_Player(worker=player))) for _ in range(3)] == [2, 2, 0]


def test_a_worker_passes_over_what_another_knows_while_there_is_something_else(plan_of: PlanOf) -> None:
    plan = plan_of(["majority"], ["none", "round(decimals=3)", "round(decimals=4)"], trials=1)
    mine, theirs, new = (Play(cell=cell, seed=0, trial=0) for cell in plan.cells)
    pool, process = Processes(workers=2, host=Host()), Any
    asks = _Player(worker=process, known={mine.cell.curator})
    pool._pool += [asks, _Player(worker=process, known={theirs.cell.curator})]
    pool._waiting.extend([[theirs], [new], [theirs], [mine]])

    assert [pool._batch(asks) for _ in range(5)] == [[new], [mine], [theirs], [theirs], []]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.timeout(120)  # a hang that nobody ends lasts longer
def test_in_process_play_leaves_strangers_to_a_copy_where_who_hangs_or_dies_costs_itself(
    plan_of: PlanOf, bench: TrialRunner
) -> None:
    """A hang was said to be a crash and was waited for twice; ``--workers 0`` played strangers in the run's process."""
    plan = plan_of(["fake-coin", "fake-dies", "fake-hangs", "fake-reader", "majority"], ["none"], trials=2)
    tasks = [task for task in tasks_of(plan) if isinstance(task, Play)]

    with local(plan, bench.builder, 3.0, 0) as executor:
        assert isinstance(executor, InProcess)
        found = [(task, result) for task, result in executor.perform(tasks) if task.trial == 0]

    for task, result in found:
        assert isinstance(result, Trial)
        name = task.cell.shown.attack
        if name == "fake-dies":
            assert (result.status, result.message) == (Status.CRASHED, "its process was killed by SIGKILL")
        elif name == "fake-hangs":
            assert (result.status, result.message) == (Status.TIMEOUT, "no result within 3 s")
        else:
            here = bench.play(task.cell, 0, task.trial)
            assert (result.status, result.n_correct, result.evidence) == (Status.OK, here.n_correct, here.evidence)
