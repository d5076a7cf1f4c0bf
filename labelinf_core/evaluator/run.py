"""Runs a plan on an executor and keeps everything in a record; what the record has already is not done again.

First every cell says what is known of it; a mistake of the user's is found here, before anything is played. Then the
trials are played in rounds, so that every cell has one trial before any has two. A cell whose trial hangs or crashes
is given up: later trials of it are not played, and those that were in flight do not count. So the results are the
same for any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from labelinf_core.contracts.errors import InputError
from labelinf_core.evaluator.cells import Plan
from labelinf_core.evaluator.executors import Executor, Imply, Play
from labelinf_core.evaluator.records import Implied, Status, Trial
from labelinf_core.evaluator.store import Store

__all__ = ["is_complete", "run", "size"]


def run(plan: Plan, store: Store, executor: Executor, progress: Callable[[int], None] = lambda done: None) -> None:
    """Do what is still to be done of ``plan``.

    Args:
        plan: What to run.
        store: Its record.
        executor: Where to run it.
        progress: Called with the number of steps done (of :func:`size`), whenever one is.

    Raises:
        InputError: Settings of the plan do not fit together; nothing has been played then.
    """
    mistakes: dict[str, None] = {}  # in order, each once
    done = size(plan) - sum(1 for _ in _unknown(plan, store)) - sum(1 for _ in _unplayed(plan, store))
    progress(done)
    for task, result in executor.perform(_unknown(plan, store)):
        if isinstance(result, Implied) and result.status is Status.INVALID:
            mistakes[result.message] = None
        elif isinstance(result, Implied):
            store.keep_implied(task.cell.id, result)
        done += 1
        progress(done)
    if mistakes:
        raise InputError("\n".join(mistakes))
    for task, result in executor.perform(_unplayed(plan, store)):
        if isinstance(task, Play) and isinstance(result, Trial):
            store.keep_trial(task.cell.id, task.trial, result)
            done += 1
            progress(done)


def size(plan: Plan) -> int:
    """Return how many steps a run of ``plan`` takes when nothing goes wrong."""
    return len(plan.cells) * (1 + plan.trials)


def is_complete(plan: Plan, store: Store) -> bool:
    """Whether nothing is left to do."""
    return next(_unknown(plan, store), None) is None and next(_unplayed(plan, store), None) is None


def _unknown(plan: Plan, store: Store) -> Iterator[Imply]:
    return (Imply(cell=cell) for cell in plan.cells if not store.knows(cell.id))


def _unplayed(plan: Plan, store: Store) -> Iterator[Play]:
    """Yield the trials to play, round by round, looking at the record anew before each."""
    for trial in range(plan.trials):
        for cell in plan.cells:
            if store.wants(cell.id, trial):
                yield Play(cell=cell, seed=plan.seed, trial=trial)
